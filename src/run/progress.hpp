// What a rank tells about its work while it does it, so that a program can show how far it is and what took the time.
#pragma once

#include "patchbench/base/enum_names.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace pb::run {

/// What a rank does. Some come several times for one image. A streamed output (`output: file`) is read and written
/// during the network's passes; its writing is only what follows.
enum class Activity : uint8_t { start_up, reading, preparation, halo_search, network, verification, writing, waiting };

constexpr auto enum_names(Activity) {
    return std::to_array<EnumName<Activity>>({{Activity::start_up, "start-up"},
                                              {Activity::reading, "reading"},
                                              {Activity::preparation, "preparation"},
                                              {Activity::halo_search, "halo search"},
                                              {Activity::network, "network"},
                                              {Activity::verification, "verification"},
                                              {Activity::writing, "writing"},
                                              {Activity::waiting, "other ranks"}});
}
inline constexpr size_t kNumActivities = enum_names(Activity{}).size();

/// Called by the thread that works, so it must return quickly.
class ProgressListener {
  public:
    virtual ~ProgressListener() = default;
    /// The rank starts another activity. `network`: at the start of each pass, outside its timed region.
    virtual void begin(Activity activity) = 0;
    /// The next pass is one over so many images; otherwise it is over one.
    virtual void join(int64_t /*num_images*/) {}
    /// In a pass, before each batch and at the end: `done` of `all` batches were given out, those in flight included.
    /// They are the rank's own, which stand for those of all ranks; with `schedule: dynamic` those of all ranks. With
    /// exchanged rows: of the layers whose rows travel; with carried rows: of the layers of all steps.
    virtual void advance(int64_t done, int64_t all) = 0;
};

}  // namespace pb::run
