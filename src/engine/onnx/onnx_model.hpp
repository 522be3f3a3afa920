// An ONNX file as a message of protobuf, before its nodes are read.
#pragma once

#include "engine/checkpoint/byte_reader.hpp"
#include "engine/weights/noise_metadata.hpp"

#include <onnx/onnx_pb.h>

#include <string>

namespace pb::engine {

/// `file`: at most 2 GB, which is all that protobuf takes. Throws UsageError that names the file where it is no model.
[[nodiscard]] onnx::ModelProto parse_onnx(Bytes file, const std::string& name);

/// Throws UsageError where the operators of the model's opset may mean something else than onnx_read.cpp takes them
/// for.
void check_opset(const onnx::ModelProto& model, const std::string& name);

/// `metadata_props`.
[[nodiscard]] Metadata metadata_of(const onnx::ModelProto& model);

}  // namespace pb::engine
