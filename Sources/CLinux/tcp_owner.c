#include "CLinux.h"
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int clinux_tcp_owner(
    int family, const void *host, uint16_t port, const void *peer_host, uint16_t peer_port, uint32_t *uid,
    uint32_t *inode) {
  size_t size = family == AF_INET ? 4 : 16;
  struct {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
  } request = {
      .head = {.nlmsg_len = sizeof request, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
      .body = {.sdiag_family = (uint8_t)family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = ~0u},
  };
  struct inet_diag_sockid *ends = &request.body.id;
  ends->idiag_sport = htons(port);
  ends->idiag_dport = htons(peer_port);
  memcpy(ends->idiag_src, host, size);
  memcpy(ends->idiag_dst, peer_host, size);
  memset(ends->idiag_cookie, 0xFF, sizeof ends->idiag_cookie);

  int netlink = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (netlink < 0) return -1;
  union {
    struct nlmsghdr head;
    char room[4096];
  } answer;
  ssize_t count = send(netlink, &request, sizeof request, 0);
  // By the time send returns, the kernel has already answered.
  if (count >= 0) count = recv(netlink, &answer, sizeof answer, MSG_DONTWAIT);
  int code = errno;
  close(netlink);
  if (count >= (ssize_t)NLMSG_LENGTH(sizeof(struct inet_diag_msg)) && answer.head.nlmsg_type == SOCK_DIAG_BY_FAMILY) {
    const struct inet_diag_msg *found = NLMSG_DATA(&answer.head);
    *uid = found->idiag_uid;
    *inode = found->idiag_inode;
    return 0;
  }
  if (count >= (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)) && answer.head.nlmsg_type == NLMSG_ERROR) {
    code = -((const struct nlmsgerr *)NLMSG_DATA(&answer.head))->error;
  }
  errno = count < 0 || code != 0 ? code : EPROTO;
  return -1;
}
