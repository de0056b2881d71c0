// What a shared library says of itself, read from its file: nothing of it is loaded, and nothing in it is trusted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../base/descriptor.h"

namespace nt::finding {

class ElfFile {
 public:
  // Throws ERR_TRT_NO_LIBRARY with the reason where the file is no shared library of this machine, or is cut short.
  explicit ElfFile(const std::string& path);

  // Empty where it has none.
  const std::string& soname() const noexcept { return soname_; }
  bool exports(std::string_view name) const { return addressOf(name).has_value(); }
  // The first bytes of an exported function, as many as there are up to `most`; none where it is not exported.
  std::vector<uint8_t> code(std::string_view name, std::size_t most) const;

 private:
  // A part of the file that is mapped at an address.
  struct Segment {
    uint64_t address, offset, size;
  };
  // What the dynamic section points at: addresses, and sizes in bytes; 0 where it says nothing.
  struct Dynamic {
    uint64_t names = 0, namesSize = 0, symbols = 0, gnuHash = 0, hash = 0, soname = 0;
    bool hasSoname = false;
  };

  [[noreturn]] void refuse(const std::string& why) const;
  Segment readSegments();
  void readDynamic(const Segment& place);
  bool read(uint64_t offset, void* to, std::size_t bytes) const;
  // The place in the file of `bytes` bytes at an address, or nothing where they are not all there.
  std::optional<uint64_t> offsetOf(uint64_t address, uint64_t bytes) const;
  template <class T>
  std::optional<T> at(uint64_t address) const;
  std::string nameAt(uint64_t index) const;
  std::optional<uint64_t> addressOf(std::string_view name) const;
  std::optional<uint64_t> symbol(uint32_t index, std::string_view name) const;
  std::optional<uint64_t> byGnuHash(std::string_view name) const;
  std::optional<uint64_t> byHash(std::string_view name) const;

  std::string path_;
  Descriptor file_;
  uint64_t size_ = 0;
  std::vector<Segment> segments_;
  Dynamic dynamic_;
  std::string soname_;
};

}  // namespace nt::finding
