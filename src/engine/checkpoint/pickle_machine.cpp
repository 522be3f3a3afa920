#include "engine/checkpoint/pickle_machine.hpp"

#include "engine/checkpoint/pickle_value.hpp"

#include <fmt/format.h>

#include <bit>

namespace pb::engine {
namespace {

// Bounds the memory of a hostile pickle to some 100 MB; a state dict needs some 20 steps a tensor.
constexpr int64_t kMostSteps = 1'000'000;
constexpr uint8_t kStop = '.';
constexpr uint8_t kProtocol = 0x80;

}  // namespace

PickleValue PickleMachine::run() {
    stack_.clear();
    marks_.clear();
    memo_.clear();
    if (reader_.take_integer<uint8_t>() != kProtocol || reader_.take_integer<uint8_t>() != 2)
        reader_.fail("no pickle of protocol 2; save the state dict with torch.save and its default protocol");
    for (int64_t steps = 0; steps < kMostSteps; ++steps) {
        const auto opcode = reader_.take_integer<uint8_t>();
        if (opcode == kStop) {
            const PickleValue result = pop();
            if (!stack_.empty() || !marks_.empty()) reader_.fail("the pickle ends with values left over");
            return result;
        }
        step(opcode);
    }
    reader_.fail("the pickle takes more than a million steps: no state dict of these networks does");
}

void PickleMachine::step(uint8_t opcode) {
    if (step_constant(opcode) || step_container(opcode) || step_memo(opcode) || step_call(opcode)) return;
    reader_.fail(
        fmt::format("pickle opcode {} is not one that a state dict needs; save the state dict alone with "
                    "torch.save(model.state_dict())",
                    opcode));
}

bool PickleMachine::step_constant(uint8_t opcode) {
    switch (opcode) {
        case 'N':  // NONE
            push(std::monostate{});
            return true;
        case 0x88:  // NEWTRUE
        case 0x89:  // NEWFALSE
            push(opcode == 0x88);
            return true;
        case 'J':  // BININT
            push(int64_t{reader_.take_integer<int32_t>()});
            return true;
        case 'K':  // BININT1
            push(int64_t{reader_.take_integer<uint8_t>()});
            return true;
        case 'M':  // BININT2
            push(int64_t{reader_.take_integer<uint16_t>()});
            return true;
        case 0x8a:  // LONG1
            push(take_long());
            return true;
        case 'G':  // BINFLOAT
            push(take_double());
            return true;
        case 'X':  // BINUNICODE
            push(reader_.take_text(reader_.take_integer<uint32_t>()));
            return true;
        case 'U':  // SHORT_BINSTRING, of Python 2
            push(reader_.take_text(reader_.take_integer<uint8_t>()));
            return true;
        default:
            return false;
    }
}

bool PickleMachine::step_container(uint8_t opcode) {
    switch (opcode) {
        case '(':  // MARK
            marks_.push_back(stack_.size());
            return true;
        case ')':   // EMPTY_TUPLE
        case 0x85:  // TUPLE1 to TUPLE3
        case 0x86:
        case 0x87:
            make_short_tuple(opcode == ')' ? 0 : opcode - 0x84u);
            return true;
        case 't':  // TUPLE
            make_tuple(pop_to_mark());
            return true;
        case ']':  // EMPTY_LIST
            heap_.lists.emplace_back();
            push(ListRef{heap_.lists.size() - 1});
            return true;
        case '}':  // EMPTY_DICT
            heap_.dicts.emplace_back();
            push(DictRef{heap_.dicts.size() - 1});
            return true;
        case 'a':  // APPEND
            append({pop()});
            return true;
        case 'e':  // APPENDS
            append(pop_to_mark());
            return true;
        case 's': {  // SETITEM
            const PickleValue value = pop();
            set_items({pop(), value});
            return true;
        }
        case 'u':  // SETITEMS
            set_items(pop_to_mark());
            return true;
        default:
            return false;
    }
}

bool PickleMachine::step_memo(uint8_t opcode) {
    switch (opcode) {
        case 'q':  // BINPUT
            remember(reader_.take_integer<uint8_t>());
            return true;
        case 'r':  // LONG_BINPUT
            remember(reader_.take_integer<uint32_t>());
            return true;
        case 'h':  // BINGET
            recall(reader_.take_integer<uint8_t>());
            return true;
        case 'j':  // LONG_BINGET
            recall(reader_.take_integer<uint32_t>());
            return true;
        default:
            return false;
    }
}

bool PickleMachine::step_call(uint8_t opcode) {
    switch (opcode) {
        case 'c': {  // GLOBAL
            const std::string_view module = reader_.take_line();
            const std::string_view name = reader_.take_line();
            const auto global = find_global(module, name);
            if (!global) refuse_global(std::string(module) + "." + std::string(name));
            push(*global);
            return true;
        }
        case 'R':   // REDUCE
        case 0x81:  // NEWOBJ: a class, called
            call();
            return true;
        case 'Q':  // BINPERSID
            find_persistent_id();
            return true;
        case 'b':  // BUILD
            set_attributes();
            return true;
        default:
            return false;
    }
}

// A whole object begins with its class. In a legacy file that class follows the word 'module', in a tuple.
void PickleMachine::refuse_global(const std::string& name) const {
    const auto* word = stack_.size() == 1 ? std::get_if<std::string_view>(&stack_.front()) : nullptr;
    const bool is_whole_object = stack_.empty() || (word != nullptr && *word == "module");
    reader_.fail((is_whole_object ? "the file holds a whole object of the class " + shown(name) + ", no state dict"
                                  : "the pickle names " + shown(name) + ", which no state dict needs") +
                 ": refused, nothing was executed; save the weights alone, with the program that has the model: "
                 "torch.save(model.state_dict(), file)");
}

void PickleMachine::push(PickleValue value) { stack_.push_back(value); }

// Values below the last mark belong to an outer container.
size_t PickleMachine::poppable() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }

PickleValue PickleMachine::pop() {
    if (poppable() == 0) reader_.fail("the pickle takes a value that is not there");
    const PickleValue value = stack_.back();
    stack_.pop_back();
    return value;
}

std::vector<PickleValue> PickleMachine::pop_to_mark() {
    if (marks_.empty()) reader_.fail("the pickle closes what it never opened");
    const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleValue> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
}

void PickleMachine::make_tuple(std::vector<PickleValue> items) {
    heap_.tuples.push_back(std::move(items));
    push(TupleRef{heap_.tuples.size() - 1});
}

void PickleMachine::make_short_tuple(size_t count) {
    if (poppable() < count) reader_.fail("the pickle takes a value that is not there");
    const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<PickleValue> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    make_tuple(std::move(items));
}

void PickleMachine::append(std::vector<PickleValue> items) {
    const PickleValue target = pop();
    const auto* list = std::get_if<ListRef>(&target);
    if (list == nullptr) reader_.fail("the pickle appends to what is no list");
    auto& known = heap_.lists[list->index];
    known.insert(known.end(), items.begin(), items.end());
    push(target);
}

void PickleMachine::set_items(std::vector<PickleValue> items) {
    const PickleValue target = pop();
    if (std::holds_alternative<Setting>(target)) return push(target);
    const auto* dict = std::get_if<DictRef>(&target);
    if (dict == nullptr || items.size() % 2 != 0) reader_.fail("the pickle sets items of what is no dict");
    for (size_t i = 0; i < items.size(); i += 2) heap_.dicts[dict->index].emplace_back(items[i], items[i + 1]);
    push(target);
}

void PickleMachine::call() {
    const PickleValue arguments = pop();
    const PickleValue callable = pop();
    const auto* tuple = std::get_if<TupleRef>(&arguments);
    const auto* global = std::get_if<Callable>(&callable);
    if (tuple == nullptr || global == nullptr) reader_.fail("the pickle calls what is no function");
    const auto result = call_global(*global, heap_.tuples[tuple->index], heap_);
    if (!result) reader_.fail("a tensor or dict is described in a way that torch.save does not use");
    push(*result);
}

void PickleMachine::find_persistent_id() {
    const auto storage = find_persistent(pop(), heap_);
    if (!storage) reader_.fail("a storage is described in a way that torch.save does not use");
    push(*storage);
}

// Drops attributes, which tensors do not need: those of an OrderedDict (`_metadata` with module versions), of settings.
void PickleMachine::set_attributes() {
    const PickleValue attributes = pop();
    const PickleValue target = pop();
    if (std::holds_alternative<Setting>(target)) return push(target);
    if (!std::holds_alternative<DictRef>(target) || !std::holds_alternative<DictRef>(attributes))
        reader_.fail("the pickle sets attributes of what is no OrderedDict");
    push(target);
}

void PickleMachine::remember(uint32_t slot) {
    if (poppable() == 0) reader_.fail("the pickle keeps a value that is not there");
    memo_[slot] = stack_.back();
}

void PickleMachine::recall(uint32_t slot) {
    const auto found = memo_.find(slot);
    if (found == memo_.end()) reader_.fail("the pickle recalls a value that it never kept");
    push(found->second);
}

int64_t PickleMachine::take_long() {
    const auto length = reader_.take_integer<uint8_t>();
    if (length > sizeof(int64_t)) reader_.fail("an integer of more than 64 bits");
    uint64_t value = 0;
    const Bytes bytes = reader_.take(length);
    for (size_t i = 0; i < bytes.size(); ++i) value |= static_cast<uint64_t>(bytes[i]) << (8 * i);
    const int unused_bits = 64 - 8 * length;
    if (length == 0) return 0;
    return static_cast<int64_t>(value << unused_bits) >> unused_bits;  // two's complement: the top bit is the sign
}

// The only big-endian number in a pickle.
double PickleMachine::take_double() {
    return std::bit_cast<double>(__builtin_bswap64(reader_.take_integer<uint64_t>()));
}

}  // namespace pb::engine
