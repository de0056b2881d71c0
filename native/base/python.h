// Where Python keeps what its wheels bring.
#pragma once

#include <string>
#include <vector>

namespace nt {

// The paths that match the pattern of glob(3), in alphabetical order.
std::vector<std::string> globbed(const std::string& pattern);

// The paths that match one of the patterns ("onnxruntime/capi/*.so*") within a folder of site-packages: those of
// environments that are active first, then the user's, then the system's.
std::vector<std::string> globbedInSitePackages(const std::vector<std::string>& patterns);

}  // namespace nt
