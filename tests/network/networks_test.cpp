// Every operation of small relatives, written down after deepinv's models, so that no skip, order or name can change.
#include "support/graph_text.hpp"

#include "patchbench/network/network_shape.hpp"

#include <gtest/gtest.h>

namespace pb::network {
namespace {

TEST(Networks, DrunetAddsItsSkips) {
    EXPECT_EQ(to_text(DrunetShape{.channels = 1, .widths = {4, 8}, .blocks = 2}.graph()),
              "0 input: 2 channels at scale 1\n"
              "1 convolution 'm_head' 3x3 of 0: 4 channels at scale 1\n"
              "2 convolution 'm_down1.0.res.0' 3x3 of 1: 4 channels at scale 1\n"
              "3 relu of 2: 4 channels at scale 1\n"
              "4 convolution 'm_down1.0.res.2' 3x3 of 3: 4 channels at scale 1\n"
              "5 add of 1, 4: 4 channels at scale 1\n"
              "6 convolution 'm_down1.1.res.0' 3x3 of 5: 4 channels at scale 1\n"
              "7 relu of 6: 4 channels at scale 1\n"
              "8 convolution 'm_down1.1.res.2' 3x3 of 7: 4 channels at scale 1\n"
              "9 add of 5, 8: 4 channels at scale 1\n"
              "10 convolution 'm_down1.2' 2x2 stride 2 of 9: 8 channels at scale 2\n"
              "11 convolution 'm_body.0.res.0' 3x3 of 10: 8 channels at scale 2\n"
              "12 relu of 11: 8 channels at scale 2\n"
              "13 convolution 'm_body.0.res.2' 3x3 of 12: 8 channels at scale 2\n"
              "14 add of 10, 13: 8 channels at scale 2\n"
              "15 convolution 'm_body.1.res.0' 3x3 of 14: 8 channels at scale 2\n"
              "16 relu of 15: 8 channels at scale 2\n"
              "17 convolution 'm_body.1.res.2' 3x3 of 16: 8 channels at scale 2\n"
              "18 add of 14, 17: 8 channels at scale 2\n"
              "19 add of 18, 10: 8 channels at scale 2\n"
              "20 transposed_convolution 'm_up1.0' 2x2 stride 2 of 19: 4 channels at scale 1\n"
              "21 convolution 'm_up1.1.res.0' 3x3 of 20: 4 channels at scale 1\n"
              "22 relu of 21: 4 channels at scale 1\n"
              "23 convolution 'm_up1.1.res.2' 3x3 of 22: 4 channels at scale 1\n"
              "24 add of 20, 23: 4 channels at scale 1\n"
              "25 convolution 'm_up1.2.res.0' 3x3 of 24: 4 channels at scale 1\n"
              "26 relu of 25: 4 channels at scale 1\n"
              "27 convolution 'm_up1.2.res.2' 3x3 of 26: 4 channels at scale 1\n"
              "28 add of 24, 27: 4 channels at scale 1\n"
              "29 add of 28, 1: 4 channels at scale 1\n"
              "30 convolution 'm_tail' 3x3 of 29: 1 channels at scale 1\n");
}

TEST(Networks, UnetJoinsItsSkipsBeforeTheMapFromBelow) {
    EXPECT_EQ(to_text(UnetShape{.channels = 1, .widths = {4, 8}}.graph()),
              "0 input: 1 channels at scale 1\n"
              "1 convolution 'Conv1.0' 3x3 bias norm 'Conv1.1' of 0: 4 channels at scale 1\n"
              "2 relu of 1: 4 channels at scale 1\n"
              "3 convolution 'Conv1.3' 3x3 bias norm 'Conv1.4' of 2: 4 channels at scale 1\n"
              "4 relu of 3: 4 channels at scale 1\n"
              "5 max_pool of 4: 4 channels at scale 2\n"
              "6 convolution 'Conv2.0' 3x3 bias norm 'Conv2.1' of 5: 8 channels at scale 2\n"
              "7 relu of 6: 8 channels at scale 2\n"
              "8 convolution 'Conv2.3' 3x3 bias norm 'Conv2.4' of 7: 8 channels at scale 2\n"
              "9 relu of 8: 8 channels at scale 2\n"
              "10 upsample of 9: 8 channels at scale 1\n"
              "11 convolution 'Up2.1' 3x3 bias norm 'Up2.2' of 10: 4 channels at scale 1\n"
              "12 relu of 11: 4 channels at scale 1\n"
              "13 concatenate of 4, 12: 8 channels at scale 1\n"
              "14 convolution 'Up_conv2.0' 3x3 bias norm 'Up_conv2.1' of 13: 4 channels at scale 1\n"
              "15 relu of 14: 4 channels at scale 1\n"
              "16 convolution 'Up_conv2.3' 3x3 bias norm 'Up_conv2.4' of 15: 4 channels at scale 1\n"
              "17 relu of 16: 4 channels at scale 1\n"
              "18 convolution 'Conv_1x1' 1x1 bias of 17: 1 channels at scale 1\n"
              "19 add of 18, 0: 1 channels at scale 1\n");
}

TEST(Networks, DncnnIsAChain) {
    EXPECT_EQ(to_text(DncnnShape{.channels = 1, .depth = 3, .width = 4}.graph()),
              "0 input: 1 channels at scale 1\n"
              "1 convolution 'in_conv' 3x3 bias of 0: 4 channels at scale 1\n"
              "2 relu of 1: 4 channels at scale 1\n"
              "3 convolution 'conv_list.0' 3x3 bias of 2: 4 channels at scale 1\n"
              "4 relu of 3: 4 channels at scale 1\n"
              "5 convolution 'out_conv' 3x3 bias of 4: 1 channels at scale 1\n"
              "6 add of 5, 0: 1 channels at scale 1\n");
}

}  // namespace
}  // namespace pb::network
