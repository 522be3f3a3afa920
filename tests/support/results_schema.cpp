#include "support/results_schema.hpp"

#include "measure/study/study_fields.hpp"
#include "measure/summary_fields.hpp"
#include "record/environment.hpp"
#include "record/point.hpp"
#include "report/results/jsonl_writer.hpp"
#include "support/json_schema.hpp"

namespace pb::report {

namespace {

record::Json reference_to(const char* definition) { return {{"$ref", std::string("#/$defs/") + definition}}; }

record::Json constant(const char* value) { return {{"const", value}}; }

/// Allows settings of any name in addition to the named ones.
record::Json settings_beside(record::Json object, const std::vector<std::string>& required) {
    object["required"] = required;
    object["additionalProperties"] = reference_to("setting");
    return object;
}

record::Json point_schema() {
    plan::Point none;
    record::SchemaWriter settled, point;
    record::settled_fields(settled, none);
    record::Json object = settled.object();
    object["properties"]["fused"] = {{"description", "layers on a GPU, as fusion on does and fusion auto may"},
                                     {"type", "boolean"}};
    object["properties"]["network"] = {{"type", "string"}};  // only in points with a network shape of their own
    object["properties"]["layers"] = {{"description", "of a network that the user brings, where they are known"},
                                      {"type", "string"}};
    point.add("settled", object, "");
    return settings_beside(point.object(), {"settled", "network", "image"});
}

record::Json summary_schema() {
    record::Json object = record::schema_of(measure::Summary{});
    object["additionalProperties"] = {{"description", "a figure of the glossary in reading-results.md"},
                                      {"type", {"number", "null"}}};
    return object;
}

record::Json point_line_schema() {
    const record::PointTrace trace;
    record::SchemaWriter line;
    line.add("type", constant("point"), "");
    line("key", trace.point.key);
    line("index", record::whole(trace.point.index));
    line("label", std::string());
    line.add("point", point_schema(), "");
    fields(line, trace);
    line.add("summary", summary_schema(), "");
    return line.object();
}

record::Json study_schema() {
    record::SchemaWriter line;
    line.add("type", constant("study"), "");
    line.add("schema_version", constant(kResultsSchemaVersion), "");
    line.add("environment", reference_to("environment"), "");
    line.add("config", {{"type", "object"}, {"additionalProperties", reference_to("setting")}}, "");
    return line.object();
}

record::Json resume_schema() {
    record::SchemaWriter line;
    line.add("type", constant("resume"), "");
    line.add("environment", reference_to("environment"), "");
    return line.object();
}

record::Json study_summary_schema() {
    record::SchemaWriter line;
    line.add("type", constant("study_summary"), "");
    fields(line, measure::StudySummary{});
    return line.object();
}

}  // namespace

record::Json results_schema() {
    return {{"environment", record::schema_of(record::Environment{})},
            {"study", study_schema()},
            {"resume", resume_schema()},
            {"point", point_line_schema()},
            {"study_summary", study_summary_schema()}};
}

}  // namespace pb::report
