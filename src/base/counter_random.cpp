#include "base/counter_random.hpp"

#include <Random123/philox.h>

namespace pb {

std::array<uint32_t, 4> philox(const std::array<uint32_t, 4>& counter, const std::array<uint32_t, 2>& key) {
    using Generator = r123::Philox4x32;  // ten rounds
    const Generator::ctr_type block = Generator()(Generator::ctr_type{{counter[0], counter[1], counter[2], counter[3]}},
                                                  Generator::key_type{{key[0], key[1]}});
    return {block[0], block[1], block[2], block[3]};
}

}  // namespace pb
