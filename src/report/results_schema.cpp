#include "report/results_schema.hpp"

#include "measure/summary_fields.hpp"
#include "record/environment.hpp"
#include "record/json_schema.hpp"
#include "record/point.hpp"
#include "report/jsonl_writer.hpp"

namespace pb {

namespace {

Json reference_to(const char* definition) { return {{"$ref", std::string("#/$defs/") + definition}}; }

Json constant(const char* value) { return {{"const", value}}; }

/// Allows settings of any name in addition to the named ones.
Json settings_beside(Json object, const std::vector<std::string>& required) {
    object["required"] = required;
    object["additionalProperties"] = reference_to("setting");
    return object;
}

Json point_schema() {
    Point none;
    SchemaWriter settled, point;
    settled_fields(settled, none);
    Json object = settled.object();
    object["properties"]["network"] = {{"type", "string"}};  // only in points with a network shape of their own
    point.add("settled", object, "");
    return settings_beside(point.object(), {"settled", "network", "image"});
}

Json summary_schema() {
    Json object = schema_of(Summary{});
    object["additionalProperties"] = {{"description", "a figure of the glossary in reading-results.md"},
                                      {"type", {"number", "null"}}};
    return object;
}

Json point_line_schema() {
    const PointTrace trace;
    SchemaWriter line;
    line.add("type", constant("point"), "");
    line("key", trace.point.key);
    line("index", whole(trace.point.index));
    line("label", std::string());
    line.add("point", point_schema(), "");
    fields(line, trace);
    line.add("summary", summary_schema(), "");
    return line.object();
}

Json study_schema() {
    SchemaWriter line;
    line.add("type", constant("study"), "");
    line.add("schema_version", constant(kResultsSchemaVersion), "");
    line.add("environment", reference_to("environment"), "");
    line.add("config", {{"type", "object"}, {"additionalProperties", reference_to("setting")}}, "");
    return line.object();
}

Json resume_schema() {
    SchemaWriter line;
    line.add("type", constant("resume"), "");
    line.add("environment", reference_to("environment"), "");
    return line.object();
}

}  // namespace

Json results_schema() {
    return {{"environment", schema_of(Environment{})},
            {"batch_search", schema_of(BatchSearch{})},
            {"study", study_schema()},
            {"resume", resume_schema()},
            {"point", point_line_schema()}};
}

}  // namespace pb
