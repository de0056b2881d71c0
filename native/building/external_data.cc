#include "external_data.h"

#include <filesystem>
#include <fstream>

#include "../base/error.h"
#include "../base/lfs.h"

namespace nt::building {

void checkExternalFile(const std::string& file, const std::string& modelPath) {
  namespace fs = std::filesystem;
  const std::string shown = file.substr(0, file.find('\0'));  // a message ends there
  const auto refuse = [&](const std::string& why) {
    throw Error("ERR_TRT_ONNX_PARSE", "The ONNX model keeps weights in the file \"" + shown + "\", " + why,
                {{"location", shown}});
  };
  if (modelPath.empty()) refuse("and was given as bytes, which lie in no folder: give the path of the model instead");
  if (file.empty() || file.find('\0') != std::string::npos) refuse("which is no name of a file");
  if (fs::path(file).is_absolute()) refuse("which is an absolute path: only files in the model's own folder are read");
  std::error_code ignored;
  const fs::path folder = fs::path(modelPath).parent_path();
  const fs::path root = fs::weakly_canonical(folder, ignored);
  const fs::path target = fs::weakly_canonical(folder / file, ignored);
  const fs::path way = target.lexically_relative(root);
  if (target.empty() || way.empty() || way == "." || *way.begin() == "..")
    refuse("which is outside of the model's folder " + root.string());
  char head[kLfsStart.size()] = {};
  if (fs::is_regular_file(target, ignored)) std::ifstream(target, std::ios::binary).read(head, sizeof head);
  if (std::string_view(head, sizeof head) == kLfsStart)
    throw Error("ERR_TRT_FILE", "The ONNX model keeps weights in " + target.string() + ", which is " + kLfsPointer,
                {{"path", target.string()}});
}

}  // namespace nt::building
