// The door from an app to the accessories of easim.
//
// There is nothing to call. An app that links this code, or gets it injected, meets easim's accessories through
// ExternalAccessory when EASIM_REMOTE is set to the line that `easim serve --remote` prints: host:port#token. Without the
// variable nothing is replaced.

#import <Foundation/Foundation.h>

/// Whether ExternalAccessory is replaced in this process.
FOUNDATION_EXPORT BOOL EasimBridgeIsInstalled(void);

/// What `fence` looks for in an app that is about to ship.
FOUNDATION_EXPORT const char EasimBridgeMark[];
