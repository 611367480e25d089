# SPDX-License-Identifier: MIT
#
# Two changes to what Verilator 5.006 generates, for the fast build. If another version writes something
# else, nothing is changed.
#
# 1. It clears every local variable at the head of the function that holds it: in a function that runs
#    every cycle, that clears the operands and results of every vector function, used in this cycle or
#    not (a tenth of all instructions). A local variable is written before it is read, so clearing is
#    needed only where Verilator relies on zeros in unused upper bits: those of elements that do not fill
#    their word. The others are taken out.
# 2. The sets of clocks that have risen get the types of trigger_bits.h.

/^#include "verilated.h"$/ && FILENAME ~ /___024root\.h$/ { print; print "#include \"trigger_bits.h\""; next }
/^ *VlTriggerVec<[0-9]+> __VactTriggered;$/ { sub(/VlTriggerVec/, "TriggerFlags") }
/^ *VlTriggerVec<[0-9]+> __V(nba|pre)Triggered;$/ { sub(/VlTriggerVec/, "TriggerBits") }

/^ *\/\/ Init$/ { init = 1 }
/^ *\/\/ Body$/ || /^}/ { init = 0 }

init && /^ *VL_ZERO_W\([0-9]+, [A-Za-z0-9_]+\);$/ {
  bits = $0
  sub(/^ *VL_ZERO_W\(/, "", bits)
  if (bits % 32 == 0) next
}

# An array: declaration, loops, one assignment, closing braces.
init && /^ *VlUnpacked<.*(IData\/\*31:0\*\/|QData\/\*63:0\*\/|SData\/\*15:0\*\/|CData\/\*7:0\*\/),.*> [A-Za-z0-9_]+;$/ { full = 1; print; next }
init && /^ *VlUnpacked</ { full = 0 }
init && full && /^ *for \(int __Vi/ { depth++; next }
init && full && depth && /= 0;$/ { next }
init && full && depth && /^ *}$/ { depth--; if (!depth) full = 0; next }

{ print }
