#include "python.h"

#include <glob.h>

#include <cstdlib>

namespace nt {
namespace {

// The variables are expanded.
constexpr const char* kSitePackages[] = {
    "$VIRTUAL_ENV/lib/python3*/site-packages",
    "$CONDA_PREFIX/lib/python3*/site-packages",
    "$HOME/.local/lib/python3*/site-packages",
    "/usr/local/lib/python3*/dist-packages",
    "/usr/local/lib/python3*/site-packages",
    "/usr/lib/python3*/dist-packages",
    "/usr/lib/python3*/site-packages",
    "/opt/conda/lib/python3*/site-packages",
    "$HOME/.pyenv/versions/*/lib/python3*/site-packages",
};

// "$NAME/rest" with the variable's value, or nothing where it is unset.
std::string expanded(const std::string& pattern) {
  if (pattern.front() != '$') return pattern;
  const auto end = pattern.find('/');
  const char* value = std::getenv(pattern.substr(1, end - 1).c_str());
  return value == nullptr || *value == '\0' ? std::string() : value + pattern.substr(end);
}

}  // namespace

std::vector<std::string> globbed(const std::string& pattern) {
  glob_t matches{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), 0, nullptr, &matches) == 0)
    paths.assign(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  globfree(&matches);
  return paths;
}

std::vector<std::string> globbedInSitePackages(const std::vector<std::string>& patterns) {
  std::vector<std::string> paths;
  for (const char* folder : kSitePackages) {
    const std::string root = expanded(folder);
    if (root.empty()) continue;
    for (const std::string& pattern : patterns) {
      for (std::string& path : globbed(root + "/" + pattern)) paths.push_back(std::move(path));
    }
  }
  return paths;
}

}  // namespace nt
