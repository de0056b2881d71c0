#include "elf.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "../base/error.h"

namespace nt::finding {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#else
constexpr uint16_t kMachine = EM_AARCH64;
#endif

// No library that was seen comes near these; a file that says otherwise is not read for ever.
constexpr std::size_t kMostHeaders = 256, kMostEntries = 4096, kLongestName = 1024;
constexpr uint32_t kMostSteps = 1U << 16;

uint32_t gnuHashOf(std::string_view name) {
  uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

uint32_t sysvHashOf(std::string_view name) {
  uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4) + static_cast<unsigned char>(c);
    const uint32_t high = hash & 0xf0000000U;
    hash = (hash ^ high >> 24) & ~high;
  }
  return hash;
}

}  // namespace

ElfFile::ElfFile(const std::string& path)
    // a pipe of that name keeps nobody waiting
    : path_(path), file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat facts {};
  if (file_ < 0 || fstat(file_, &facts) != 0) refuse(std::strerror(errno));
  if (!S_ISREG(facts.st_mode)) refuse("it is no ordinary file");
  size_ = static_cast<uint64_t>(facts.st_size);
  readDynamic(readSegments());
  if (dynamic_.hasSoname) soname_ = nameAt(dynamic_.soname);
}

void ElfFile::refuse(const std::string& why) const {
  throw Error("ERR_TRT_NO_LIBRARY", "Cannot load " + path_ + ": " + why, {{"path", path_}});
}

// Gives the place and the size of the dynamic section.
ElfFile::Segment ElfFile::readSegments() {
  Elf64_Ehdr header{};
  const bool isElf = read(0, &header, sizeof header) && std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
  if (!isElf) refuse("it is no shared library");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != kMachine)
    refuse("it is for another processor");
  if (header.e_type != ET_DYN || header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > kMostHeaders)
    refuse("it is no shared library");
  std::vector<Elf64_Phdr> parts(header.e_phnum);
  if (!read(header.e_phoff, parts.data(), parts.size() * sizeof(Elf64_Phdr))) refuse("it is cut short");
  std::optional<Segment> dynamic;
  for (const Elf64_Phdr& part : parts) {
    if (part.p_type == PT_DYNAMIC) dynamic = {part.p_vaddr, part.p_offset, part.p_filesz};
    if (part.p_type != PT_LOAD) continue;
    // the loader maps what is not there, too, and the process dies when it touches it
    if (part.p_offset > size_ || part.p_filesz > size_ - part.p_offset) refuse("it is cut short");
    segments_.push_back({part.p_vaddr, part.p_offset, part.p_filesz});
  }
  if (!dynamic) refuse("it is no shared library");
  return *dynamic;
}

void ElfFile::readDynamic(const Segment& place) {
  std::vector<Elf64_Dyn> entries(std::min<uint64_t>(place.size / sizeof(Elf64_Dyn), kMostEntries));
  if (!read(place.offset, entries.data(), entries.size() * sizeof(Elf64_Dyn))) refuse("it is cut short");
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_STRTAB) dynamic_.names = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) dynamic_.namesSize = entry.d_un.d_val;
    if (entry.d_tag == DT_SYMTAB) dynamic_.symbols = entry.d_un.d_ptr;
    if (entry.d_tag == DT_GNU_HASH) dynamic_.gnuHash = entry.d_un.d_ptr;
    if (entry.d_tag == DT_HASH) dynamic_.hash = entry.d_un.d_ptr;
    if (entry.d_tag == DT_SONAME) dynamic_.soname = entry.d_un.d_val, dynamic_.hasSoname = true;
  }
}

std::vector<uint8_t> ElfFile::code(std::string_view name, std::size_t most) const {
  const auto address = addressOf(name);
  for (std::size_t bytes = address ? most : 0; bytes > 0; --bytes) {
    const auto offset = offsetOf(*address, bytes);
    std::vector<uint8_t> code(bytes);
    if (offset && read(*offset, code.data(), bytes)) return code;
  }
  return {};
}

bool ElfFile::read(uint64_t offset, void* to, std::size_t bytes) const {
  if (offset > size_ || bytes > size_ - offset) return false;
  auto* next = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = pread(file_, next, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    next += got, offset += static_cast<uint64_t>(got), bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

std::optional<uint64_t> ElfFile::offsetOf(uint64_t address, uint64_t bytes) const {
  for (const Segment& segment : segments_) {
    if (address < segment.address) continue;
    const uint64_t within = address - segment.address;
    if (within <= segment.size && bytes <= segment.size - within) return segment.offset + within;
  }
  return std::nullopt;
}

template <class T>
std::optional<T> ElfFile::at(uint64_t address) const {
  T value{};
  const auto offset = offsetOf(address, sizeof value);
  if (!offset || !read(*offset, &value, sizeof value)) return std::nullopt;
  return value;
}

// A name of the table of names; empty where it is not whole.
std::string ElfFile::nameAt(uint64_t index) const {
  if (index >= dynamic_.namesSize) return {};
  const uint64_t most = std::min<uint64_t>(dynamic_.namesSize - index, kLongestName);
  const auto offset = offsetOf(dynamic_.names + index, most);
  std::string name(most, '\0');
  if (!offset || !read(*offset, name.data(), most)) return {};
  const auto end = name.find('\0');
  return end == name.npos ? std::string() : name.substr(0, end);
}

std::optional<uint64_t> ElfFile::addressOf(std::string_view name) const {
  if (dynamic_.gnuHash != 0) return byGnuHash(name);
  return dynamic_.hash != 0 ? byHash(name) : std::nullopt;
}

// The address of the symbol, if it has that name and is defined here.
std::optional<uint64_t> ElfFile::symbol(uint32_t index, std::string_view name) const {
  const auto entry = at<Elf64_Sym>(dynamic_.symbols + uint64_t{index} * sizeof(Elf64_Sym));
  if (!entry || entry->st_shndx == SHN_UNDEF || nameAt(entry->st_name) != name) return std::nullopt;
  return entry->st_value;
}

// The table: four numbers, a filter of 64-bit words, the first symbol of each bucket, and the hashes of the symbols,
// the last of a bucket with its lowest bit set.
std::optional<uint64_t> ElfFile::byGnuHash(std::string_view name) const {
  const auto sizes = at<std::array<uint32_t, 4>>(dynamic_.gnuHash);
  if (!sizes) return std::nullopt;
  const auto [buckets, firstSymbol, filterWords, shift] = *sizes;
  if (buckets == 0) return std::nullopt;
  const uint64_t firstBucket = dynamic_.gnuHash + sizeof *sizes + uint64_t{filterWords} * sizeof(uint64_t);
  const uint64_t hashes = firstBucket + uint64_t{buckets} * sizeof(uint32_t);
  const uint32_t hash = gnuHashOf(name);
  const auto first = at<uint32_t>(firstBucket + uint64_t{hash % buckets} * sizeof(uint32_t));
  if (!first || *first < firstSymbol) return std::nullopt;
  for (uint32_t step = 0; step < kMostSteps; ++step) {
    const uint32_t index = *first + step;
    const auto found = at<uint32_t>(hashes + (uint64_t{index} - firstSymbol) * sizeof(uint32_t));
    if (!found) return std::nullopt;
    if ((*found | 1U) == (hash | 1U)) {
      if (const auto address = symbol(index, name)) return address;
    }
    if ((*found & 1U) != 0) return std::nullopt;
  }
  return std::nullopt;
}

// The older table: two numbers, the first symbol of each bucket, the symbol after each symbol.
std::optional<uint64_t> ElfFile::byHash(std::string_view name) const {
  const auto sizes = at<std::array<uint32_t, 2>>(dynamic_.hash);
  if (!sizes || (*sizes)[0] == 0) return std::nullopt;
  const uint64_t firstBucket = dynamic_.hash + sizeof *sizes;
  const uint64_t chains = firstBucket + uint64_t{(*sizes)[0]} * sizeof(uint32_t);
  auto index = at<uint32_t>(firstBucket + uint64_t{sysvHashOf(name) % (*sizes)[0]} * sizeof(uint32_t));
  for (uint32_t step = 0; index && *index != STN_UNDEF && step < kMostSteps; ++step) {
    if (const auto address = symbol(*index, name)) return address;
    index = at<uint32_t>(chains + uint64_t{*index} * sizeof(uint32_t));
  }
  return std::nullopt;
}

}  // namespace nt::finding
