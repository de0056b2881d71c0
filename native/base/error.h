// The one exception of the native code: a code of lib/errors.ts, a message, and facts for programs.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace nt {

class Error : public std::runtime_error {
 public:
  using Details = std::vector<std::pair<std::string, std::string>>;

  Error(std::string code, const std::string& message, Details details = {})
      : std::runtime_error(message), code_(std::move(code)), details_(std::move(details)) {}

  const std::string& code() const noexcept { return code_; }
  const Details& details() const noexcept { return details_; }
  const std::vector<std::string>& log() const noexcept { return log_; }

  // The lines that the library logged before the error; set where the error is caught on its way to JavaScript.
  void attachLog(std::vector<std::string> lines) { log_ = std::move(lines); }

 private:
  std::string code_;
  Details details_;
  std::vector<std::string> log_;
};

}  // namespace nt
