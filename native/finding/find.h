// Where TensorRT libraries are looked for, in order.
#pragma once

#include <string>
#include <vector>

namespace nt::finding {

struct Found {
  std::string path;
  // "option", "loader", "folder" or "python"
  std::string by;
};

// Candidates, best first, each file once: the explicit path (a library or a folder with libraries) and nothing else
// where one is given; otherwise what the dynamic loader has, the usual folders, the Python wheels' folders. Nothing is
// loaded, but what the loader finds where its cache cannot be read. Throws ERR_TRT_NO_LIBRARY when an explicit path
// holds no TensorRT library.
std::vector<Found> findLibraries(const std::string& explicitPath);

}  // namespace nt::finding
