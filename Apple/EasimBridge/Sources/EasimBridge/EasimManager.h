// The subclasses that an app gets instead of Apple's objects.

#import "EasimLink.h"
#import "EasimStreams.h"

/// An accessory of easim. It is the same object from its connect to its disconnect.
@interface EasimAccessory : EAAccessory {
  NSDictionary *_values;
  BOOL _isConnected;
  EASIM_UNRETAINED id<EAAccessoryDelegate> _delegateOfAccessory;
}
- (instancetype)initWithValues:(NSDictionary *)values;
- (void)disconnect;
@end

/// A session with one of them.
@interface EasimSession : EASession {
  EasimAccessory *_accessoryOfSession;
  NSString *_protocolOfSession;
  NSInputStream *_input;
  NSOutputStream *_output;
}
@end

/// What `+[EAAccessoryManager sharedAccessoryManager]` returns: the app's side of a remote app of easim.
///
/// The rules (which accessories an app sees, when it is notified, which sessions open) are those of the server. This object
/// forwards calls and notifications. The list of accessories changes on the main thread, together with the notification.
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
/// Both streams of a session are closed: what was written is still sent, and then the session is over.
- (void)finish:(EasimPipe *)pipe;
@end
