#include "external_data.h"

#include <fcntl.h>

#include <filesystem>

#include "../base/descriptor.h"
#include "../base/error.h"
#include "../base/lfs.h"

namespace nt::building {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuseFile(const std::string& file, const std::string& why) {
  const std::string shown = file.substr(0, file.find('\0'));  // a message ends there
  throw Error("ERR_TRT_ONNX_PARSE", "The ONNX model keeps weights in the file \"" + shown + "\", " + why,
              {{"location", shown}});
}

void checkInside(const fs::path& target, const fs::path& root, const std::string& file) {
  const fs::path way = target.lexically_relative(root);
  if (target.empty() || way.empty() || way == "." || *way.begin() == "..")
    refuseFile(file, "which is outside of the model's folder " + root.string());
}

// Neither a pipe nor a device, which may never answer. What is missing the parser says.
void checkOrdinary(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored) || fs::is_regular_file(file, ignored)) return;
  const std::string why = fs::is_directory(file, ignored) ? "a folder" : "not an ordinary file";
  throw Error("ERR_TRT_FILE", "The ONNX model keeps weights in " + file.string() + ", which is " + why,
              {{"path", file.string()}});
}

bool isLfsPointer(const fs::path& file) {
  std::error_code ignored;
  char head[kLfsStart.size()] = {};
  if (!fs::is_regular_file(file, ignored)) return false;
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  return opened >= 0 && readAll(opened, head, sizeof head) == sizeof head &&
         std::string_view(head, sizeof head) == kLfsStart;
}

}  // namespace

void checkExternalName(const std::string& file, const std::string& modelPath) {
  if (modelPath.empty())
    refuseFile(file, "and was given as bytes, which lie in no folder: give the path of the model instead");
  if (file.empty() || file.find('\0') != std::string::npos) refuseFile(file, "which is no name of a file");
  if (fs::path(file).is_absolute())
    refuseFile(file, "which is an absolute path: only files in the model's own folder are read");
  const fs::path folder = fs::path(modelPath).parent_path();
  checkInside((folder / file).lexically_normal(), folder.lexically_normal(), file);
}

void checkExternalFile(const std::string& file, const std::string& modelPath) {
  checkExternalName(file, modelPath);
  std::error_code ignored;
  const fs::path folder = fs::path(modelPath).parent_path();
  const fs::path target = fs::weakly_canonical(folder / file, ignored);
  checkInside(target, fs::weakly_canonical(folder, ignored), file);
  checkOrdinary(target);
  if (isLfsPointer(target))
    throw Error("ERR_TRT_FILE", "The ONNX model keeps weights in " + target.string() + ", which is " + kLfsPointer,
                {{"path", target.string()}});
}

}  // namespace nt::building
