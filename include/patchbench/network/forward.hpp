// Names that the interface of engines uses and whose definitions are not installed.
#pragma once

namespace pb::network {

class BandSchedule;   // network/parts/band_schedule.hpp
class ExchangedSlab;  // network/parts/exchanged_slab.hpp
class WindowCrop;     // network/parts/window_crop.hpp

}  // namespace pb::network
