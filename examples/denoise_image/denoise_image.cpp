// denoise_image IN.pfm OUT.pfm WEIGHTS SIGMA: denoises a picture with a DnCNN. A program of its own that uses the
// installed patchbench. PFM is "PF" (colour) or "Pf" (gray), width, height and "-1.0", then 32-bit floats.
#include <patchbench/base/error.hpp>
#include <patchbench/denoise.hpp>

#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

namespace {

pb::FloatImage load_picture(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    pb::FloatImage picture;
    std::string magic;
    double scale = 0;
    stream >> magic >> picture.extent.w >> picture.extent.h >> scale;
    stream.get();  // the line's end
    if (!stream || (magic != "PF" && magic != "Pf") || scale != -1)
        throw std::runtime_error(file + ": is no PFM picture with scale -1");
    picture.channels = magic == "PF" ? 3 : 1;
    picture.values.resize(static_cast<size_t>(picture.extent.pixels() * picture.channels));
    stream.read(reinterpret_cast<char*>(picture.values.data()),
                static_cast<std::streamsize>(picture.values.size() * sizeof(float)));
    if (!stream) throw std::runtime_error(file + ": ends too early");
    return picture;
}

void save_picture(const pb::FloatImage& picture, const std::string& file) {
    std::ofstream stream(file, std::ios::binary);
    stream << (picture.channels == 3 ? "PF\n" : "Pf\n") << picture.extent.w << ' ' << picture.extent.h << "\n-1.0\n";
    stream.write(reinterpret_cast<const char*>(picture.values.data()),
                 static_cast<std::streamsize>(picture.values.size() * sizeof(float)));
    if (!stream.flush()) throw std::runtime_error(file + ": cannot be written");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc != 5) throw pb::UsageError("usage: denoise_image IN.pfm OUT.pfm WEIGHTS SIGMA");
        const pb::FloatImage noisy = load_picture(argv[1]);
        pb::DenoiseOptions options;
        options.network = pb::WeightsFile{argv[3], pb::network::kind_of<pb::network::DncnnShape>()};
        options.sigma = std::stod(argv[4]);
        options.patch = 64;
        save_picture(pb::denoise({noisy.values.data(), noisy.extent, noisy.channels}, options), argv[2]);
        return EXIT_SUCCESS;
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return EXIT_FAILURE;
    }
}
