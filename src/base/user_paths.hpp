// Paths as users give them, checked before anything is opened, made or written; and folders that lie beside the
// program.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace pb {

/// Throws UsageError unless `file` is there and a regular file: a FIFO or a device would block, or never end.
void require_regular_file(const std::filesystem::path& file);

/// Throws UsageError when `output` is the file `input`, under whatever name: inputs are never modified.
void require_not_input(const std::filesystem::path& output, const std::filesystem::path& input);

/// What tells one version of a file from the next: its place on the disk, size and last change. Empty where there is no
/// such file.
[[nodiscard]] std::string file_version(const std::filesystem::path& file);

/// Whether the file that had this `file_version` was written to since. Not when another one has its name, or none.
[[nodiscard]] bool was_written_to(const std::filesystem::path& file, const std::string& version);

/// Makes `folder` with its parents. Throws UsageError where it cannot be.
void make_folder(const std::filesystem::path& folder);

/// To be called where opening `file` failed: throws Error when errno says that too many files are open, which is
/// nothing about this one. Leaves errno as it is.
void require_descriptors(const std::filesystem::path& file);

/// What the system says about `code`, a value of errno.
[[nodiscard]] std::string reason_of(int code);

/// "path: reason", what the user can act on.
[[nodiscard]] std::string describe(const std::filesystem::filesystem_error& error);

/// The value of an environment variable. One that is not set is empty, too.
[[nodiscard]] std::string environment_value(const char* name);

/// The file of the running program. Empty where /proc does not exist.
[[nodiscard]] std::filesystem::path program_file();

/// The folder of program_file().
[[nodiscard]] std::filesystem::path program_folder();

/// The folder of the program, or the first one above it, in which `file` exists, or its `share/patchbench` (where
/// `cmake --install` puts what belongs to the program); none if there is no such folder.
[[nodiscard]] std::optional<std::filesystem::path> find_folder_with(const std::filesystem::path& file);

}  // namespace pb
