// The subclasses that an app uses instead of Apple's classes.

#import "EasimLink.h"
#import "EasimStreams.h"

/// An easim accessory. The object is the same from connect to disconnect.
@interface EasimAccessory : EAAccessory {
  NSDictionary *_values;
  BOOL _isConnected;
  EASIM_UNRETAINED id<EAAccessoryDelegate> _delegateOfAccessory;
}
- (instancetype)initWithValues:(NSDictionary *)values;
- (void)disconnect;
@end

/// A session with an easim accessory.
@interface EasimSession : EASession {
  EasimAccessory *_accessoryOfSession;
  NSString *_protocolOfSession;
  NSInputStream *_input;
  NSOutputStream *_output;
}
@end

/// The object that `+[EAAccessoryManager sharedAccessoryManager]` returns. It is this process's end of a remote app in
/// easim.
///
/// The server decides which accessories an app sees, when it is notified, and which sessions open. This object forwards
/// calls and notifications. The list of accessories changes on the main thread, together with the notification.
@interface EasimManager : EAAccessoryManager <EasimLinkDelegate> {
  EasimLink *_link;
  NSRecursiveLock *_lock;
  NSCondition *_began;
  NSString *_app, *_said;
  NSMutableArray *_accessories;
  NSMutableDictionary *_known, *_pipes;
  NSInteger _registrations, _finishing;
  BOOL _hasTried;
}
+ (EasimManager *)shared;
/// Opens a session, or returns nil.
- (EasimPipe *)openSessionWith:(EAAccessory *)accessory protocol:(NSString *)protocol;
/// Called when both of a session's streams are closed. The written bytes are still sent, and then the session ends.
- (void)finish:(EasimPipe *)pipe;
@end
