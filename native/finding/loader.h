// Where the dynamic loader would find a library by its name, without loading it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nt::finding {

// The libraries that this process has mapped, whoever did it, whose file name `isWanted`.
std::vector<std::string> mappedLibraries(bool (*isWanted)(std::string_view file));

// The folders of LD_LIBRARY_PATH, in which the loader looks first.
std::vector<std::string> libraryPath();

// The paths that the content of ld.so.cache has for a name, best first; nothing where it is no such cache.
std::optional<std::vector<std::string>> inLoaderCache(const std::vector<uint8_t>& cache, std::string_view name);

// The file that the loader would take for `name` now; empty where it has none, nothing where that cannot be known.
std::optional<std::string> locateByName(const std::string& name);

}  // namespace nt::finding
