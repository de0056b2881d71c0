// Where onnxruntime is looked for, in order.
#pragma once

#include <string>
#include <vector>

namespace nt::onnxruntime {

struct Wanted {
  // The option, or $ONNXRUNTIME_PATH: a file, or a folder that has it; empty: look for one.
  std::string path;
  // The folder of onnxruntime-node that has libonnxruntime.so.1, or should have; empty: the package is not installed.
  std::string package;
};

// The file of the onnxruntime that this process has mapped, whoever did; empty: none.
std::string mappedLibrary();

// What dlopen() may be given, best first: the explicit path and nothing else where there is one; otherwise the
// package's, the loader's, those of Python's wheels. Nothing is loaded. Throws ERR_TRT_NO_ONNXRUNTIME where an explicit
// path has none.
std::vector<std::string> findLibraries(const Wanted& wanted);

// The file that would be used, as far as that is known without loading one; empty: none. Throws ERR_TRT_NO_ONNXRUNTIME
// where an explicit path has none.
std::string locateLibrary(const Wanted& wanted);

// Throws ERR_TRT_NO_ONNXRUNTIME where an explicit path names another library than the one that is loaded: environment,
// logger and thread pools of onnxruntime are one per process.
void requireSame(const Wanted& wanted, const std::string& loaded);

}  // namespace nt::onnxruntime
