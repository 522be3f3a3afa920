#include "base/network_format.hpp"

#include <gtest/gtest.h>

namespace pb {
namespace {

TEST(NetworkFormat, IsToldByTheEndingInUpperOrLowerCase) {
    EXPECT_EQ(network_format("a.pt/model.onnx"), NetworkFormat::onnx);
    EXPECT_EQ(network_format("MODEL.ONNX"), NetworkFormat::onnx);
    EXPECT_EQ(network_format("model.onnx.pt"), NetworkFormat::torchscript);
    EXPECT_EQ(network_format("model.pt2"), NetworkFormat::torch_package);
    EXPECT_EQ(network_format("model.py"), NetworkFormat::python);
    for (const char* name : {"a.pth", "a.ckpt", "a.safetensors"})
        EXPECT_EQ(network_format(name), NetworkFormat::weights) << name;
    for (const char* name : {"", "onnx", ".onnx", "a.pt3", "a.onnx/", "a.pt.zip"})
        EXPECT_EQ(network_format(name), std::nullopt) << name;
}

TEST(NetworkFormat, SaysWhatIsCode) {
    for (const char* name : {"a.pt", "a.PT2", "a.py"}) EXPECT_TRUE(is_code(name)) << name;
    for (const char* name : {"a.onnx", "a.pth", "a.ckpt", "a.safetensors", "a", ""})
        EXPECT_FALSE(is_code(name)) << name;
}

TEST(NetworkFormat, AreNamed) {
    EXPECT_EQ(network_endings_text(), ".onnx, .pt, .pt2, .py, or weights of a known one: .pth, .ckpt, .safetensors");
}

}  // namespace
}  // namespace pb
