// The pickle reader on legacy files written byte by byte here: what torch would never write.
#include "engine/checkpoint/pickle_value.hpp"
#include "support/checkpoint_files.hpp"
#include "support/damage.hpp"
#include "support/messages.hpp"
#include "support/temporary_folder.hpp"

#include "patchbench/base/error.hpp"
#include "patchbench/engine/weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

namespace pb::engine {
namespace {

using namespace std::string_literals;
using testing::AllOf;
using testing::HasSubstr;

std::filesystem::path scratch() {
    static const test::TemporaryFolder folder;
    return folder / "checkpoint.pth";
}

std::string text(const std::string& word) {
    return "X"s + static_cast<char>(word.size()) + "\0\0\0"s + word;  // BINUNICODE
}

std::string number(uint8_t value) { return "K"s + static_cast<char>(value); }

std::string sizes(const std::vector<uint8_t>& values) {
    std::string tuple = "(";
    for (const uint8_t value : values) tuple += number(value);
    return tuple + "t";
}

struct View {
    std::vector<uint8_t> shape{2, 3};
    std::vector<uint8_t> stride{3, 1};
    uint8_t offset = 0;
    uint8_t elements = 6;  // of the storage, as the pickle says
};

std::string storage(const View& view) {
    return "("s + text("storage") + "ctorch\nFloatStorage\n" + text("1") + text("cpu") + number(view.elements) + "NtQ";
}

std::string tensor(const View& view) {
    return "ctorch._utils\n_rebuild_tensor_v2\n("s + storage(view) + number(view.offset) + sizes(view.shape) +
           sizes(view.stride) + "\x89" + "ccollections\nOrderedDict\n)RtR";
}

std::string pickled(const std::string& steps) { return "\x80\x02"s + steps + "."; }

const std::string kCount = "\x06\0\0\0\0\0\0\0"s;
const std::string kValues = std::string(24, '\0');

std::string file_of(const std::string& state_dict, const std::string& storages = kCount + kValues) {
    return "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19\x2e\x80\x02\x4d\xe9\x03\x2e"s + pickled("}") +
           pickled(state_dict) + pickled("]"s + text("1") + "a") + storages;
}

std::string dict_of(const std::string& value) { return "}"s + text("w") + value + "s"; }

std::string message_of(const std::string& bytes) {
    test::write_bytes(scratch(), bytes);
    return usage_error([] { (void)load_checkpoint(scratch()); });
}

std::string message_of_view(const View& view) { return message_of(file_of(dict_of(tensor(view)))); }

TEST(Pickle, OfAStateDictWrittenByHandLoads) {
    test::write_bytes(scratch(), file_of(dict_of(tensor({}))));
    EXPECT_EQ(load_state_dict(scratch()).at("w").shape, (std::vector<int64_t>{2, 3}));
}

/// All that a pickle may name.
bool is_known(const std::string& module, const std::string& name) {
    static const std::set<std::string> known{"collections.OrderedDict",
                                             "collections.Counter",
                                             "collections.defaultdict",
                                             "__builtin__.bytearray",
                                             "__builtin__.dict",
                                             "__builtin__.int",
                                             "__builtin__.list",
                                             "__builtin__.set",
                                             "numpy.dtype",
                                             "numpy.core.multiarray.scalar",
                                             "_codecs.encode",
                                             "torch._utils._rebuild_tensor",
                                             "torch._utils._rebuild_tensor_v2",
                                             "torch._utils._rebuild_parameter",
                                             "torch.Size",
                                             "torch.device",
                                             "torch.float32",
                                             "torch.DoubleStorage",
                                             "torch.FloatStorage",
                                             "torch.HalfStorage",
                                             "torch.BFloat16Storage",
                                             "torch.LongStorage",
                                             "torch.IntStorage",
                                             "torch.ShortStorage",
                                             "torch.CharStorage",
                                             "torch.ByteStorage",
                                             "torch.BoolStorage"};
    return known.contains(module + "." + name);
}

const char* const kModules[] = {"collections",
                                "torch",
                                "torch._utils",
                                "torch.storage",
                                "torch.serialization",
                                "torch._tensor",
                                "torch.nn",
                                "torch.jit",
                                "torch.hub",
                                "torch.cuda",
                                "torch.utils",
                                "torch.package",
                                "builtins",
                                "__builtin__",
                                "__main__",
                                "os",
                                "posix",
                                "nt",
                                "sys",
                                "subprocess",
                                "socket",
                                "shutil",
                                "runpy",
                                "pickle",
                                "importlib",
                                "functools",
                                "operator",
                                "copyreg",
                                "copy_reg",
                                "_codecs",
                                "io",
                                "types",
                                "code",
                                "ctypes",
                                "numpy",
                                "numpy.core.multiarray",
                                "pip",
                                "webbrowser",
                                "asyncio",
                                ""};

const char* const kNames[] = {"getattr",
                              "setattr",
                              "delattr",
                              "eval",
                              "exec",
                              "compile",
                              "open",
                              "__import__",
                              "import_module",
                              "globals",
                              "vars",
                              "dir",
                              "input",
                              "print",
                              "map",
                              "apply",
                              "type",
                              "object",
                              "object.__new__",
                              "bytearray",
                              "list",
                              "dict",
                              "set",
                              "int",
                              "system",
                              "popen",
                              "execv",
                              "spawnv",
                              "remove",
                              "fork",
                              "Popen",
                              "run",
                              "call",
                              "check_output",
                              "load",
                              "loads",
                              "_load_from_bytes",
                              "save",
                              "Tensor",
                              "Size",
                              "device",
                              "dtype",
                              "float32",
                              "Storage",
                              "UntypedStorage",
                              "TypedStorage",
                              "ComplexFloatStorage",
                              "OrderedDict",
                              "OrderedDict.x",
                              "defaultdict",
                              "Counter",
                              "namedtuple",
                              "_rebuild",
                              "_rebuild_tensor",
                              "_rebuild_tensor_v2",
                              "_rebuild_tensor_v3",
                              "_rebuild_parameter",
                              "_rebuild_parameter_with_state",
                              "_rebuild_sparse_tensor",
                              "_rebuild_qtensor",
                              "_rebuild_meta_tensor_no_storage",
                              "_rebuild_from_type_v2",
                              "_rebuild_wrapper_subclass",
                              "DoubleStorage",
                              "FloatStorage",
                              "HalfStorage",
                              "BFloat16Storage",
                              "LongStorage",
                              "IntStorage",
                              "ShortStorage",
                              "CharStorage",
                              "ByteStorage",
                              "BoolStorage",
                              "partial",
                              "reduce",
                              "attrgetter",
                              "itemgetter",
                              "methodcaller",
                              "_reconstructor",
                              "__newobj__",
                              "encode",
                              "decode",
                              "_reconstruct",
                              "scalar",
                              "ndarray",
                              "CodeType",
                              "FunctionType",
                              "CDLL",
                              "main",
                              "connect",
                              "rmtree",
                              "run_path",
                              ""};

TEST(Pickle, MayNameTheGlobalsOfAStateDictAndNothingElse) {
    int known = 0;
    for (const std::string module : kModules)
        for (const std::string name : kNames) {
            EXPECT_EQ(find_global(module, name).has_value(), is_known(module, name)) << module << "." << name;
            known += is_known(module, name) ? 1 : 0;
        }
    EXPECT_EQ(known, 27) << "all of them were looked for";
}

TEST(Pickle, NamingAnyOtherGlobalIsRefusedByThatName) {
    for (const std::string global :
         {"builtins\ngetattr", "__builtin__\ngetattr", "os\nsystem", "builtins\neval", "__builtin__\neval",
          "torch\nload", "torch._utils\n_rebuild", "collections\nOrderedDict.x", "torch.storage\n_load_from_bytes",
          "torch\nTensor"}) {
        std::string name = global;
        name.replace(name.find('\n'), 1, ".");
        EXPECT_THAT(message_of(file_of("c" + global + "\n(tR")),
                    AllOf(HasSubstr("'" + name + "'"), HasSubstr("refused")));
        EXPECT_THAT(message_of(file_of(dict_of(tensor({})) + "c" + global + "\n0")), HasSubstr("'" + name + "'"))
            << "inert: named, and not called";
    }
}

TEST(Pickle, OfSettingsBesideTheWeightsDropsThem) {
    const std::string settings = "cargparse\nNamespace\n)\x81}" + text("lr") + number(1) + "sb";
    const std::string items = "ccollections\ndefaultdict\n)R" + text("a") + number(1) + "s";
    const std::string weights = text("state_dict") + dict_of(tensor({})) + "s";
    test::write_bytes(scratch(), file_of("}"s + weights + text("args") + settings + "s" + text("log") + items + "s"));
    EXPECT_EQ(load_state_dict(scratch()).size(), 1U);
    EXPECT_THAT(message_of(file_of(dict_of(tensor({})) + text("args") + settings + "s")), HasSubstr("'args'"));
    EXPECT_THAT(message_of(file_of(settings)), HasSubstr("belongs to no tensor"));
}

TEST(Pickle, MayHoldDevicesAndTypesBesideTheWeights) {
    std::string items = text("device") + "ctorch\ndevice\n"s + text("cpu") + "\x85Rs"s + text("size") +
                        "ctorch\nSize\n("s + number(2) + "t\x85Rs"s;
    for (const std::string type :
         {"bfloat16", "bool", "float16", "float32", "float64", "int16", "int32", "int64", "int8", "uint8"})
        items += text(type) + "ctorch\n" + type + "\ns";
    for (const std::string type : {"bytearray", "complex"}) items += text(type) + "c__builtin__\n" + type + "\n)Rs";
    test::write_bytes(scratch(), file_of("}"s + text("state_dict") + dict_of(tensor({})) + "s" + items));
    EXPECT_EQ(load_state_dict(scratch()).size(), 1U);
}

/// Python 2 calls OrderedDict with a list of [key, value] lists and has opcodes of its own for str.
TEST(Pickle, OfPython2IsRead) {
    const std::string name(300, 'n');
    const std::string key = "T\x2c\x01\0\0"s + name;
    const std::string pair = "]("s + key + tensor({}) + "e";
    const auto dict = [](const std::string& items) { return "ccollections\nOrderedDict\n](" + items + "e\x85R"; };
    test::write_bytes(scratch(), file_of(dict(pair + "](U\x01w"s + tensor({.shape = {6}, .stride = {1}}) + "e")));
    const StateDict read = load_state_dict(scratch());
    EXPECT_EQ(read.size(), 2U);
    EXPECT_EQ(read.at(name).shape, (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(read.at("w").shape, (std::vector<int64_t>{6}));
    for (const std::string& wrong : {"]("s + key + "e", key, number(1), pair + number(1)})
        EXPECT_THAT(message_of(file_of(dict(wrong))), HasSubstr("torch.save does not use")) << wrong.substr(0, 8);
    EXPECT_THAT(message_of(file_of("ccollections\nOrderedDict\n"s + number(1) + "\x85R")), HasSubstr("does not use"));
    EXPECT_THAT(message_of(file_of("ccollections\nOrderedDict\n]]\x86R"s)), HasSubstr("does not use"));
}

/// A file of a megabyte could fill the memory with copies of one list.
TEST(Pickle, AnOrderedDictEmptiesItsList) {
    PickleHeap heap;
    heap.lists = {{ListRef{1}}, {std::string_view("key"), std::string_view("value")}};
    for (const size_t items : {1U, 0U}) {
        const auto dict = call_global(Callable::ordered_dict, {ListRef{0}}, heap);
        EXPECT_EQ(heap.dicts.at(std::get<DictRef>(dict.value()).index).size(), items);
    }
}

TEST(Pickle, WithAnyOtherOpcodeIsRefused) {
    const std::string known = "N\x88\x89JKM\x8aGXUT()\x85\x86\x87t]}aesuqrhjcRQb\x81.";
    for (int opcode = 0; opcode < 256; ++opcode) {
        if (known.find(static_cast<char>(opcode)) != std::string::npos) continue;
        EXPECT_THAT(message_of(file_of(std::string(1, static_cast<char>(opcode)))),
                    HasSubstr("opcode " + std::to_string(opcode)));
    }
}

TEST(Pickle, OfViewsOutsideTheirStorageIsRefused) {
    EXPECT_THAT(message_of_view({.offset = 1}), HasSubstr("reaches element 6 of a storage of 6"));
    EXPECT_THAT(message_of_view({.stride = {4, 1}}), HasSubstr("reaches element 6"));
    EXPECT_THAT(message_of_view({.shape = {7}, .stride = {0}}), HasSubstr("more elements than its storage"));
    EXPECT_THAT(message_of_view({.shape = {2, 3}, .stride = {1}}), HasSubstr("in a way that torch.save does not"));
    EXPECT_THAT(message_of_view({.elements = 7}), HasSubstr("announced were 7"));
    EXPECT_THAT(message_of_view({.shape = std::vector<uint8_t>(9, 1), .stride = std::vector<uint8_t>(9, 1)}),
                HasSubstr("in a way that torch.save does not"));
}

// What lies before a storage is other memory of the program.
TEST(Pickle, OfNegativeNumbersOrAnotherStorageIsRefused) {
    const auto view = [](const std::string& storage, const std::string& offset, const std::string& shape,
                         const std::string& stride) {
        return file_of(
            dict_of("ctorch._utils\n_rebuild_tensor\n("s + storage + offset + "(" + shape + "t(" + stride + "ttR"));
    };
    const auto stored = [&](const std::string& word, const std::string& elements, const std::string& last) {
        const std::string made = "("s + text(word) + "ctorch\nFloatStorage\n" + text("1") + text("cpu") + elements;
        return view(made + last + "tQ", number(1), number(3), number(1));
    };
    const std::string minus_one = "J\xff\xff\xff\xff";
    test::write_bytes(scratch(), stored("storage", number(6), "N"));
    EXPECT_EQ(load_state_dict(scratch()).at("w").values.size(), 3u);
    for (const std::string& file :
         {view(storage({}), minus_one, number(3), number(1)), view(storage({}), number(5), number(3), minus_one),
          view(storage({}), number(1), minus_one, number(1))})
        EXPECT_THAT(message_of(file), HasSubstr("a tensor or dict is described in a way"));
    for (const std::string& file : {stored("storage", minus_one, "N"), stored("module", number(6), "N"),
                                    stored("storage", number(6), number(1))})  // the last one is a view
        EXPECT_THAT(message_of(file), HasSubstr("a storage is described in a way"));
}

TEST(Pickle, OfALazilyNegatedTensorIsRefused) {
    const auto with_flags = [](const std::string& items) {
        return "ctorch._utils\n_rebuild_tensor_v2\n("s + storage({}) + number(0) + sizes({2, 3}) + sizes({3, 1}) +
               "\x89" + "ccollections\nOrderedDict\n)R" + "}" + items + "tR";
    };
    test::write_bytes(scratch(), file_of(dict_of(with_flags(""))));
    EXPECT_EQ(load_state_dict(scratch()).at("w").values.size(), 6u) << "no flag";
    EXPECT_THAT(message_of(file_of(dict_of(with_flags(text("neg") + "\x88s")))),
                HasSubstr("in a way that torch.save does not"));
}

TEST(Pickle, MayGiveAnExtentOfOneAnyStride) {
    const std::string huge = "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"s;
    const std::string view = "ctorch._utils\n_rebuild_tensor\n("s + storage({}) + number(0) + sizes({2, 1, 3}) + "(" +
                             number(1) + huge + number(2) + "ttR";
    test::write_bytes(scratch(), file_of(dict_of(view)));
    EXPECT_EQ(load_state_dict(scratch()).at("w").values.size(), 6u);
}

TEST(Pickle, MayHoldATensorOfNoElementsWhereverItBegins) {
    test::write_bytes(scratch(), file_of(dict_of(tensor({.shape = {4, 0}, .stride = {1, 1}, .offset = 6}))));
    EXPECT_EQ(load_state_dict(scratch()).at("w").shape, (std::vector<int64_t>{4, 0}));
}

TEST(Pickle, OfStoragesThatLieIsRefused) {
    const std::string good = dict_of(tensor({}));
    EXPECT_THAT(message_of(file_of(good, "\x07\0\0\0\0\0\0\0"s + kValues)), HasSubstr("has 7 elements"));
    EXPECT_THAT(message_of(file_of(good, kCount + kValues.substr(1))), HasSubstr("23 are left"));
    EXPECT_THAT(message_of(file_of(good, kCount + kValues + "x")), HasSubstr("left over"));
    EXPECT_THAT(message_of(file_of("}")), HasSubstr("belongs to no tensor"));
    std::string twice = file_of(good, kCount + kValues + kCount + kValues), other = file_of(good);
    const std::string key = text("1") + "a";
    twice.insert(twice.rfind(key), key);
    EXPECT_THAT(message_of(twice), HasSubstr("storage '1' comes twice"));
    other[other.find('\xe9')] = '\xea';
    EXPECT_THAT(message_of(other), HasSubstr("not protocol 1001"));
    std::string half = tensor({});
    half.replace(half.find("Float"), 5, "Half");
    EXPECT_THAT(message_of(file_of("}("s + text("w") + tensor({}) + text("v") + half + "u")),
                HasSubstr("announces a storage of 12 bytes, the file has 24"));
}

TEST(Pickle, OfManyViewsOfOneStorageIsRefused) {
    View view{.shape = {200}, .stride = {1}, .elements = 200};
    const std::string storages = "\xc8\0\0\0\0\0\0\0"s + std::string(800, '\0');
    const auto file_of_views = [&](int count, bool at_one_place = true) {
        std::string dict = "}";
        for (int i = 0; i < count; ++i) {
            view.offset = at_one_place ? uint8_t{0} : static_cast<uint8_t>(i);
            view.shape.front() = at_one_place ? 200 : 180;
            dict += text("w" + std::to_string(i)) + tensor(view) + "s";
        }
        return file_of(dict, storages);
    };
    test::write_bytes(scratch(), file_of_views(1));
    EXPECT_EQ(load_state_dict(scratch()).at("w0").values.size(), 200u);
    EXPECT_THAT(message_of(file_of_views(20)), HasSubstr("shares its values with 'w0', as tied weights do"));
    EXPECT_THAT(message_of(file_of_views(20, false)), HasSubstr("together more than the file has"));
}

TEST(Pickle, ThatIsNoStateDictIsRefused) {
    EXPECT_THAT(message_of(file_of(tensor({}))), HasSubstr("no dict"));
    EXPECT_THAT(message_of(file_of(dict_of(tensor({})) + text("epoch") + number(3) + "s")), HasSubstr("'epoch'"));
    EXPECT_THAT(message_of(file_of(dict_of(tensor({})) + text("w") + tensor({}) + "s")), HasSubstr("twice"));
    EXPECT_THAT(message_of(file_of("("s + dict_of(tensor({})))), HasSubstr("values left over"));
    EXPECT_THAT(message_of(file_of("}"s + number(1) + tensor({}) + "s")), HasSubstr("no text"));
}

// Deeper than any stack of the processor would bear, were values taken down by recursion.
TEST(Pickle, NestedHundredsOfThousandsDeepDoesNoHarm) {
    EXPECT_THAT(message_of(file_of(")"s + std::string(900'000, '\x85'))), HasSubstr("belongs to no tensor"));
    EXPECT_THAT(message_of(file_of(")"s + std::string(1'100'000, '\x85'))), HasSubstr("million steps"));
}

TEST(Pickle, NestedDictsAreFollowedFourDeep) {
    const auto nested = [](int depth) {
        std::string dict = dict_of(tensor({}));
        for (int i = 0; i < depth; ++i) dict = "}"s + text("model") + dict + "s";
        return file_of(dict);
    };
    test::write_bytes(scratch(), nested(4));
    EXPECT_EQ(load_state_dict(scratch()).count("w"), 1U);
    EXPECT_THAT(message_of(nested(5)), HasSubstr("'model': is no tensor"));
}

TEST(Pickle, OfDictsNestedAHundredThousandDeepIsRefused) {
    std::string open, close;
    for (int i = 0; i < 100'000; ++i) open += "}"s + text("model"), close += "s";
    EXPECT_THAT(message_of(file_of(open + tensor({}) + close)), HasSubstr("'model': is no tensor"));
}

// If every entry were followed, it would be 50,000 to the power of four dicts.
TEST(Pickle, OfOneDictUnderManyNamesEnds) {
    std::string entries;
    for (int i = 0; i < 50'000; ++i) entries += text(i % 2 == 0 ? "model" : "ema") + "h\0"s;
    EXPECT_THAT(message_of(file_of("}q\0("s + entries + "u", "")), HasSubstr("byte"));
    EXPECT_THAT(message_of(file_of("}q\0("s + entries + text("w") + tensor({}) + "u")), HasSubstr("is no tensor"));
}

TEST(Pickle, ThatHoldsADictOfTensorsBesideOthersTakesTheAverage) {
    const auto entry = [](const char* name, const std::string& value) { return text(name) + value; };
    const std::string dict = "}q\1"s + text("w") + tensor({}) + "s";
    const std::string other = "}"s + text("v") + tensor({}) + "s";
    test::write_bytes(scratch(),
                      file_of("}("s + entry("params", other) + entry("ema", dict) + entry("step", number(3)) + "u"));
    const Checkpoint checkpoint = load_checkpoint(scratch());
    EXPECT_EQ(checkpoint.tensors.count("w"), 1U);
    EXPECT_EQ(checkpoint.note, "'ema' is read, not 'params'");
    // An average with other values beside its tensors is no state dict.
    test::write_bytes(scratch(), file_of("}("s + entry("params", other) +
                                         entry("ema", dict_of(tensor({})) + entry("decay", number(1)) + "s") + "u"));
    EXPECT_EQ(load_checkpoint(scratch()).tensors.count("v"), 1U);
    EXPECT_EQ(load_checkpoint(scratch()).note, "'params' is read, not 'ema'");
    test::write_bytes(scratch(),
                      file_of("}("s + entry("params", other) + entry("ema", "}"s + text("shadow") + dict + "s") + "u"));
    EXPECT_EQ(load_checkpoint(scratch()).note, "'params' is read, not 'ema'") << "its tensors lie one deeper";
    test::write_bytes(scratch(), file_of("}("s + entry("params", other) + entry("ema", "}") + "u"));
    EXPECT_EQ(load_checkpoint(scratch()).tensors.count("v"), 1U) << "an average of nothing";
    test::write_bytes(scratch(),
                      file_of("}("s + entry("params", other) + entry("ema", other) + entry("params_ema", dict) + "u"));
    EXPECT_EQ(load_checkpoint(scratch()).note, "'params_ema' is read, not 'ema', 'params'");
    const std::string odd = "}("s + entry("w", tensor({})) + entry("_extra_state", "N") + "u";
    EXPECT_THAT(message_of(file_of("}"s + entry("model", odd) + "s")), HasSubstr("'_extra_state': is no tensor"));
}

TEST(Pickle, WhoseKeysClashWithoutTheirWrappersIsRefused) {
    const auto keys = [](const std::string& a, const std::string& b) {
        return file_of("}("s + text(a) + tensor({}) + text(b) + tensor({.shape = {1}, .stride = {1}}) + "u");
    };
    EXPECT_THAT(message_of(keys("module.w", "w")), AllOf(HasSubstr("'module.w'"), HasSubstr("'w'")));
    EXPECT_THAT(message_of(keys("a._orig_mod.w", "a.module.w")), HasSubstr("are both 'a.w'"));
    test::write_bytes(scratch(), keys("module._orig_mod.a.module.w", "v"));
    EXPECT_EQ(load_state_dict(scratch()).count("a.w"), 1U);
}

TEST(Pickle, ThatIsItsOwnStateDictEnds) {
    const std::string own = "}q\0"s + text("state_dict") + "h\0s"s;
    EXPECT_THAT(message_of(file_of(own, "")), HasSubstr("byte"));
}

TEST(Pickle, ThatUsesAnEmptyStackIsRefused) {
    for (const char* steps : {"", "\x85", "t", "a", "e", "s", "u", "R", "Q", "b", "(.", "(R", "N(s", "NN", "h\x01"})
        EXPECT_THAT(message_of(file_of(steps)), HasSubstr("byte ")) << steps;
}

TEST(Pickle, NeverCrashesTheReaderWhenDamaged) {
    const std::string whole = file_of(dict_of(tensor({})));
    const auto load = [](const std::string& bytes) {
        test::write_bytes(scratch(), bytes);
        (void)error_of<Error>([] { (void)load_checkpoint(scratch()); });
    };
    test::for_each_truncation(whole, whole.size(), load);
    test::for_each_damage(whole, 3000, load);
}

}  // namespace
}  // namespace pb::engine
