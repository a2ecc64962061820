// The least that a program can be: what starting easim is held against.
#include <stdio.h>

int main(void) {
  puts("hello");
  return 0;
}
