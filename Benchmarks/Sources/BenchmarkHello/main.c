// The smallest possible program, which is the baseline for starting easim.
#include <stdio.h>

int main(void) {
  puts("hello");
  return 0;
}
