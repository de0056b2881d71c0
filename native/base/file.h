// Files that are read whole and replaced whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nt {

// The file's bytes; none where there is no such file. Throws ERR_TRT_FILE.
std::vector<uint8_t> readFileIfThere(const std::string& path);

// Puts a new file in the place of the one that may be there: whoever looks, after a crash at any moment too, finds the
// old one or the new one, whole. It is written as `<path>.tmp`, so one at a time may do this (see file_lock.h). Throws
// ERR_TRT_FILE.
void replaceFile(const std::string& path, const void* data, std::size_t size);

}  // namespace nt
