// Libraries that are found at run time. None is ever closed.
#pragma once

#include <string>

namespace nt {

// Null where it cannot be loaded: the reason is appended. The exit handler is armed again once it is.
void* openLibrary(const std::string& file, std::string& reason);

// The file that a symbol came from, as the loader knows it; the fallback where it does not. resolvedFileOf(): with
// links resolved.
std::string fileOf(void* symbol, const std::string& fallback);
std::string resolvedFileOf(void* symbol, const std::string& fallback);

}  // namespace nt
