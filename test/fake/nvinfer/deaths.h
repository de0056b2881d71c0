// Ways in which a library can take its process down, for the tests of isolation. A model asks for them by its graph's
// name: "any;die=parse:segv", "any;die=step:loop;stepMs=20;steps=50".
#pragma once
#include <string>

namespace fake {

// What stands after `key=` up to the next semicolon; empty where it is not there.
std::string wish(const std::string& graphName, const std::string& key);

// Dies if the graph's name wants it at this place: parse, build or step.
void dieIfWished(const std::string& graphName, const std::string& place) noexcept;

}  // namespace fake
