// Connects an app to easim's accessories.
//
// An app does not need to call anything. If EASIM_REMOTE is set to the line that `easim serve --remote` prints
// (host:port#token), an app that links this code, or into which this code is injected, sees easim's accessories through
// ExternalAccessory. Without the variable, nothing is replaced.

#import <Foundation/Foundation.h>

/// Whether ExternalAccessory is replaced in this process.
FOUNDATION_EXPORT BOOL EasimBridgeIsInstalled(void);

/// `fence` looks for this string in an app that is about to ship.
FOUNDATION_EXPORT const char EasimBridgeMark[];
