// Reads pickles without executing anything. Knows only the opcodes that torch.save (pickle protocol 2) uses for a state
// dict, and makes the values of pickle_value.hpp.
#pragma once

#include "engine/checkpoint/byte_reader.hpp"
#include "engine/checkpoint/pickle_value.hpp"

#include <unordered_map>

namespace pb::engine {

class PickleMachine {
  public:
    /// Makes values in `heap`. Both arguments must outlive the machine.
    PickleMachine(ByteReader& reader, PickleHeap& heap) : reader_(reader), heap_(heap) {}

    /// Reads one pickle up to and including its STOP. Throws UsageError with the byte offset where the pickle is
    /// damaged or names something that no state dict needs.
    [[nodiscard]] PickleValue run();

  private:
    void step(uint8_t opcode);
    bool step_constant(uint8_t opcode);
    bool step_container(uint8_t opcode);
    bool step_memo(uint8_t opcode);
    bool step_call(uint8_t opcode);

    [[noreturn]] void refuse_global(const std::string& name) const;
    void push(PickleValue value);
    [[nodiscard]] size_t poppable() const;
    [[nodiscard]] PickleValue pop();
    [[nodiscard]] std::vector<PickleValue> pop_to_mark();
    void make_tuple(std::vector<PickleValue> items);
    void make_short_tuple(size_t count);
    void append(std::vector<PickleValue> items);
    void set_items(std::vector<PickleValue> items);
    void call();
    void find_persistent_id();
    void set_attributes();
    void remember(uint32_t slot);
    void recall(uint32_t slot);
    [[nodiscard]] int64_t take_long();
    [[nodiscard]] double take_double();

    ByteReader& reader_;
    PickleHeap& heap_;
    std::vector<PickleValue> stack_;
    std::vector<size_t> marks_;  // heights of the stack
    std::unordered_map<uint32_t, PickleValue> memo_;
};

}  // namespace pb::engine
