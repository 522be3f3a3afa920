#include "engine/checkpoint/pickle_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace pb::engine {
namespace {

// Bounds the memory of a hostile pickle to some 100 MB; a state dict needs some 20 steps a tensor.
constexpr int64_t kMostSteps = 1'000'000;
constexpr uint8_t kStop = '.';
constexpr uint8_t kProtocol = 0x80;

/// The stack and the memo of one pickle, and what its opcodes do with them.
class PickleMachine {
  public:
    PickleMachine(ByteReader& reader, PickleHeap& heap) : reader_(reader), heap_(heap) {}

    void push(PickleValue value) { stack_.push_back(value); }

    /// The only value that is left at the end.
    [[nodiscard]] PickleValue result() {
        const PickleValue result = pop();
        if (!stack_.empty() || !marks_.empty()) reader_.fail("the pickle ends with values left over");
        return result;
    }

    template <class T>
    [[nodiscard]] T take() {
        return reader_.take_integer<T>();
    }

    /// Text behind its length, a T.
    template <class T>
    [[nodiscard]] std::string_view take_text() {
        return reader_.take_text(take<T>());
    }

    [[nodiscard]] int64_t take_long() {
        const auto length = take<uint8_t>();
        if (length > sizeof(int64_t)) reader_.fail("an integer of more than 64 bits");
        uint64_t value = 0;
        const Bytes bytes = reader_.take(length);
        for (size_t i = 0; i < bytes.size(); ++i) value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
        const int unused_bits = 64 - 8 * length;
        if (length == 0) return 0;
        return static_cast<int64_t>(value << unused_bits) >> unused_bits;  // two's complement: the top bit is the sign
    }

    /// The only big-endian number in a pickle.
    [[nodiscard]] double take_double() { return std::bit_cast<double>(__builtin_bswap64(take<uint64_t>())); }

    void mark() { marks_.push_back(stack_.size()); }

    [[nodiscard]] std::vector<PickleValue> pop_to_mark() {
        if (marks_.empty()) reader_.fail("the pickle closes what it never opened");
        const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
        std::vector<PickleValue> items(begin, stack_.end());
        stack_.erase(begin, stack_.end());
        marks_.pop_back();
        return items;
    }

    void make_tuple(std::vector<PickleValue> items) {
        heap_.tuples.push_back(std::move(items));
        push(TupleRef{heap_.tuples.size() - 1});
    }

    void make_short_tuple(size_t count) {
        if (poppable() < count) reader_.fail("the pickle takes a value that is not there");
        const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
        std::vector<PickleValue> items(begin, stack_.end());
        stack_.erase(begin, stack_.end());
        make_tuple(std::move(items));
    }

    void make_list() {
        heap_.lists.emplace_back();
        push(ListRef{heap_.lists.size() - 1});
    }

    void make_dict() {
        heap_.dicts.emplace_back();
        push(DictRef{heap_.dicts.size() - 1});
    }

    void append_item() { append({pop()}); }

    void append(std::vector<PickleValue> items) {
        const PickleValue target = pop();
        const auto* list = std::get_if<ListRef>(&target);
        if (list == nullptr) reader_.fail("the pickle appends to what is no list");
        auto& known = heap_.lists[list->index];
        known.insert(known.end(), items.begin(), items.end());
        push(target);
    }

    void set_item() {
        const PickleValue value = pop();
        set_items({pop(), value});
    }

    void set_items(std::vector<PickleValue> items) {
        const PickleValue target = pop();
        if (std::holds_alternative<Setting>(target)) return push(target);
        const auto* dict = std::get_if<DictRef>(&target);
        if (dict == nullptr || items.size() % 2 != 0) reader_.fail("the pickle sets items of what is no dict");
        for (size_t i = 0; i < items.size(); i += 2) heap_.dicts[dict->index].emplace_back(items[i], items[i + 1]);
        push(target);
    }

    void remember(uint32_t slot) {
        if (poppable() == 0) reader_.fail("the pickle keeps a value that is not there");
        memo_[slot] = stack_.back();
    }

    void recall(uint32_t slot) {
        const auto found = memo_.find(slot);
        if (found == memo_.end()) reader_.fail("the pickle recalls a value that it never kept");
        push(found->second);
    }

    void push_global() {
        const std::string_view module = reader_.take_line();
        const std::string_view name = reader_.take_line();
        const auto global = find_global(module, name);
        if (!global) refuse_global(std::string(module) + "." + std::string(name));
        push(*global);
    }

    void call() {
        const PickleValue arguments = pop();
        const PickleValue callable = pop();
        const auto* tuple = std::get_if<TupleRef>(&arguments);
        const auto* global = std::get_if<Callable>(&callable);
        if (tuple == nullptr || global == nullptr) reader_.fail("the pickle calls what is no function");
        const auto result = call_global(*global, heap_.tuples[tuple->index], heap_);
        if (!result) reader_.fail("a tensor or dict is described in a way that torch.save does not use");
        push(*result);
    }

    void find_persistent_id() {
        const auto storage = find_persistent(pop(), heap_);
        if (!storage) reader_.fail("a storage is described in a way that torch.save does not use");
        push(*storage);
    }

    /// Drops attributes, which tensors do not need: those of an OrderedDict (`_metadata` with module versions), of
    /// settings.
    void set_attributes() {
        const PickleValue attributes = pop();
        const PickleValue target = pop();
        if (std::holds_alternative<Setting>(target)) return push(target);
        if (!std::holds_alternative<DictRef>(target) || !std::holds_alternative<DictRef>(attributes))
            reader_.fail("the pickle sets attributes of what is no OrderedDict");
        push(target);
    }

  private:
    /// Values below the last mark belong to an outer container.
    [[nodiscard]] size_t poppable() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }

    [[nodiscard]] PickleValue pop() {
        if (poppable() == 0) reader_.fail("the pickle takes a value that is not there");
        const PickleValue value = stack_.back();
        stack_.pop_back();
        return value;
    }

    /// A whole object begins with its class. In a legacy file that class follows the word 'module', in a tuple.
    [[noreturn]] void refuse_global(const std::string& name) const {
        const auto* word = stack_.size() == 1 ? std::get_if<std::string_view>(&stack_.front()) : nullptr;
        const bool is_whole_object = stack_.empty() || (word != nullptr && *word == "module");
        reader_.fail((is_whole_object ? "the file holds a whole object of the class " + shown(name) + ", no state dict"
                                      : "the pickle names " + shown(name) + ", which no state dict needs") +
                     ": refused, nothing was executed; save the weights alone, with the program that has the model: "
                     "torch.save(model.state_dict(), file)");
    }

    ByteReader& reader_;
    PickleHeap& heap_;
    std::vector<PickleValue> stack_;
    std::vector<size_t> marks_;  // heights of the stack
    std::unordered_map<uint32_t, PickleValue> memo_;
};

struct Opcode {
    uint8_t code;
    void (*act)(PickleMachine&);
};

using M = PickleMachine;

constexpr Opcode kOpcodes[] = {
    {'N', [](M& m) { m.push(std::monostate{}); }},             // NONE
    {0x88, [](M& m) { m.push(true); }},                        // NEWTRUE
    {0x89, [](M& m) { m.push(false); }},                       // NEWFALSE
    {'J', [](M& m) { m.push(int64_t{m.take<int32_t>()}); }},   // BININT
    {'K', [](M& m) { m.push(int64_t{m.take<uint8_t>()}); }},   // BININT1
    {'M', [](M& m) { m.push(int64_t{m.take<uint16_t>()}); }},  // BININT2
    {0x8a, [](M& m) { m.push(m.take_long()); }},               // LONG1
    {'G', [](M& m) { m.push(m.take_double()); }},              // BINFLOAT
    {'X', [](M& m) { m.push(m.take_text<uint32_t>()); }},      // BINUNICODE
    {'U', [](M& m) { m.push(m.take_text<uint8_t>()); }},       // SHORT_BINSTRING, of Python 2
    {'T', [](M& m) { m.push(m.take_text<uint32_t>()); }},      // BINSTRING, of Python 2
    {'(', [](M& m) { m.mark(); }},                             // MARK
    {')', [](M& m) { m.make_short_tuple(0); }},                // EMPTY_TUPLE
    {0x85, [](M& m) { m.make_short_tuple(1); }},               // TUPLE1
    {0x86, [](M& m) { m.make_short_tuple(2); }},               // TUPLE2
    {0x87, [](M& m) { m.make_short_tuple(3); }},               // TUPLE3
    {'t', [](M& m) { m.make_tuple(m.pop_to_mark()); }},        // TUPLE
    {']', [](M& m) { m.make_list(); }},                        // EMPTY_LIST
    {'}', [](M& m) { m.make_dict(); }},                        // EMPTY_DICT
    {'a', [](M& m) { m.append_item(); }},                      // APPEND
    {'e', [](M& m) { m.append(m.pop_to_mark()); }},            // APPENDS
    {'s', [](M& m) { m.set_item(); }},                         // SETITEM
    {'u', [](M& m) { m.set_items(m.pop_to_mark()); }},         // SETITEMS
    {'q', [](M& m) { m.remember(m.take<uint8_t>()); }},        // BINPUT
    {'r', [](M& m) { m.remember(m.take<uint32_t>()); }},       // LONG_BINPUT
    {'h', [](M& m) { m.recall(m.take<uint8_t>()); }},          // BINGET
    {'j', [](M& m) { m.recall(m.take<uint32_t>()); }},         // LONG_BINGET
    {'c', [](M& m) { m.push_global(); }},                      // GLOBAL
    {'R', [](M& m) { m.call(); }},                             // REDUCE
    {0x81, [](M& m) { m.call(); }},                            // NEWOBJ: a class, called
    {'Q', [](M& m) { m.find_persistent_id(); }},               // BINPERSID
    {'b', [](M& m) { m.set_attributes(); }},                   // BUILD
};

}  // namespace

PickleValue run_pickle(ByteReader& reader, PickleHeap& heap) {
    if (reader.take_integer<uint8_t>() != kProtocol || reader.take_integer<uint8_t>() != 2)
        reader.fail("no pickle of protocol 2; save the state dict with torch.save and its default protocol");
    PickleMachine machine(reader, heap);
    for (int64_t steps = 0; steps < kMostSteps; ++steps) {
        const auto code = reader.take_integer<uint8_t>();
        if (code == kStop) return machine.result();
        const auto* const opcode = std::ranges::find(kOpcodes, code, &Opcode::code);
        if (opcode == std::end(kOpcodes))
            reader.fail(
                fmt::format("pickle opcode {} is not one that a state dict needs; save the state dict alone with "
                            "torch.save(model.state_dict())",
                            code));
        opcode->act(machine);
    }
    reader.fail("the pickle takes more than a million steps: no state dict of these networks does");
}

}  // namespace pb::engine
