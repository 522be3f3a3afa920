// Names that the interface of engines uses and whose definitions are not installed.
#pragma once

namespace pb::network {

class BandSchedule;   // network/band_schedule.hpp
class ExchangedSlab;  // network/exchanged_slab.hpp
class WindowCrop;     // network/window_crop.hpp

}  // namespace pb::network
