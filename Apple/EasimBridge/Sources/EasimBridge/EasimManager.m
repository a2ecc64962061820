#import "EasimManager.h"

#include <unistd.h>

static NSString *const enterBackground = @"UIApplicationDidEnterBackgroundNotification";
static NSString *const enterForeground = @"UIApplicationWillEnterForegroundNotification";
static const NSTimeInterval firstLimit = 6, retryPause = 0.5, finishLimit = 10;

@implementation EasimManager

static EasimManager *theManager;

+ (EasimManager *)shared {
  @synchronized([EasimManager class]) {
    if (!theManager) {
      theManager = [[EasimManager alloc] init];
      [NSThread detachNewThreadSelector:@selector(keepConnected) toTarget:theManager withObject:nil];
    }
  }
  return theManager;
}

// Apple's own initializer is not called, because it raises an exception or contacts the system.
- (id)init {
  NSString *remote = [[[NSProcessInfo processInfo] environment] objectForKey:@"EASIM_REMOTE"];
  _link = [[EasimLink alloc] initWithRemote:remote delegate:self];
  _lock = [[NSRecursiveLock alloc] init];
  _began = [[NSCondition alloc] init];
  _accessories = [[NSMutableArray alloc] init];
  _known = [[NSMutableDictionary alloc] init];
  _pipes = [[NSMutableDictionary alloc] init];
  if (!_link) NSLog(@"EasimBridge: EASIM_REMOTE is not host:port#token: %@", remote);
  NSNotificationCenter *center = [NSNotificationCenter defaultCenter];
  [center addObserver:self selector:@selector(moved:) name:enterBackground object:nil];
  [center addObserver:self selector:@selector(moved:) name:enterForeground object:nil];
  return self;
}

// MARK: The connection

// Runs on its own thread: connects, launches the app, waits until the connection ends, and starts over.
- (void)keepConnected {
  while (_link) {
    @autoreleasepool {
      NSString *problem = [_link open];
      if (!problem) [self launch];
      if (problem) [self say:problem];
      [_began lock];
      _hasTried = YES;
      [_began broadcast];
      while ([_link isOpen]) [_began wait];
      [_began unlock];
    }
    [NSThread sleepForTimeInterval:retryPause];
  }
}

- (void)launch {
  NSDictionary *info = [[NSBundle mainBundle] infoDictionary];
  NSArray *protocols = [info objectForKey:@"UISupportedExternalAccessoryProtocols"];
  NSArray *modes = [info objectForKey:@"UIBackgroundModes"];
  NSDictionary *params = [NSDictionary
      dictionaryWithObjectsAndKeys:protocols ? protocols : [NSArray array], @"protocols",
                                   modes ? modes : [NSArray array], @"backgroundModes",
                                   [[NSProcessInfo processInfo] processName], @"name",
                                   [NSNumber numberWithBool:NO], @"registered", nil];
  NSString *app = [[_link call:@"app.launch" with:params] objectForKey:@"app"];
  if (!app) return;
  [_lock lock];
  EASIM_RELEASE(_app);
  _app = EASIM_RETAIN(app);
  NSInteger registrations = _registrations;
  [_lock unlock];
  for (NSInteger count = 0; count < registrations; count++) [self callApp:@"app.register"];
  [self say:@"connected"];
  // Accessories that are present when the app is launched are only listed. Accessories of a server that starts or
  // returns later connect.
  if (_hasTried) [self performSelectorOnMainThread:@selector(listAgain) withObject:nil waitUntilDone:NO];
}

- (void)say:(NSString *)text {
  if ([text isEqualToString:_said]) return;
  EASIM_RELEASE(_said);
  _said = EASIM_RETAIN(text);
  NSLog(@"EasimBridge: %@", text);
}

- (void)link:(EasimLink *)link endedBecause:(NSString *)reason {
  [_lock lock];
  BOOL hadApp = _app != nil;
  EASIM_RELEASE(_app);
  _app = nil;
  for (NSValue *value in [_pipes allValues]) [(EasimPipe *)[value nonretainedObjectValue] markGone];
  [_pipes removeAllObjects];
  [_lock unlock];
  [self say:reason];
  if (hadApp) [self performSelectorOnMainThread:@selector(loseAll) withObject:nil waitUntilDone:NO];
  [_began lock];
  [_began broadcast];
  [_began unlock];
}

- (void)waitForConnection {
  NSDate *limit = [NSDate dateWithTimeIntervalSinceNow:firstLimit];
  [_began lock];
  while (_link && !_hasTried && [_began waitUntilDate:limit]) {
  }
  [_began unlock];
}

- (NSDictionary *)callApp:(NSString *)method {
  [_lock lock];
  NSString *app = EASIM_AUTORELEASE(EASIM_RETAIN(_app));
  [_lock unlock];
  return app ? [_link call:method with:[NSDictionary dictionaryWithObject:app forKey:@"app"]] : nil;
}

- (void)moved:(NSNotification *)notification {
  [self callApp:[[notification name] isEqualToString:enterBackground] ? @"app.background" : @"app.foreground"];
}

// MARK: Notifications

- (void)link:(EasimLink *)link received:(NSDictionary *)params of:(NSString *)method {
  if ([method isEqualToString:@"session"] && [[params objectForKey:@"event"] isEqualToString:@"ended"]) {
    NSString *session = [params objectForKey:@"session"];
    [_lock lock];
    [(EasimPipe *)[[_pipes objectForKey:session] nonretainedObjectValue] markGone];
    [_pipes removeObjectForKey:session];
    [_lock unlock];
  }
  if ([method isEqualToString:@"app"])
    [self performSelectorOnMainThread:@selector(take:) withObject:params waitUntilDone:NO];
}

// Returns the accessory with these values: either one that the app has already seen, or a new one.
- (EasimAccessory *)accessory:(NSDictionary *)values {
  NSNumber *number = [values objectForKey:@"connectionID"];
  EasimAccessory *accessory = [_known objectForKey:number];
  if (accessory) return accessory;
  accessory = EASIM_AUTORELEASE([[EasimAccessory alloc] initWithValues:values]);
  [_known setObject:accessory forKey:number];
  return accessory;
}

- (void)take:(NSDictionary *)params {
  NSString *event = [params objectForKey:@"event"];
  NSDictionary *values = [params objectForKey:@"accessory"];
  if ([event isEqualToString:@"ended"]) [_link close];
  if (!values) return;
  [_lock lock];
  EasimAccessory *accessory = EASIM_AUTORELEASE(EASIM_RETAIN([self accessory:values]));
  BOOL isRegistered = _registrations > 0;
  BOOL isConnect = [event isEqualToString:@"connect"], isDelegates = [event isEqualToString:@"delegateDisconnect"];
  if (isConnect) {
    if (![_accessories containsObject:accessory]) [_accessories addObject:accessory];
  } else {
    [_accessories removeObject:accessory];
    [accessory disconnect];
  }
  if (isDelegates) [_known removeObjectForKey:[values objectForKey:@"connectionID"]];
  [_lock unlock];
  if (isDelegates) {
    [self tellDelegateOf:accessory];
  } else if (isRegistered) {
    [self post:accessory connect:isConnect selected:[[params objectForKey:@"selected"] boolValue]];
  }
}

- (void)tellDelegateOf:(EAAccessory *)accessory {
  id delegate = [accessory delegate];
  if ([delegate respondsToSelector:@selector(accessoryDidDisconnect:)]) [delegate accessoryDidDisconnect:accessory];
}

- (void)post:(EAAccessory *)accessory connect:(BOOL)isConnect selected:(BOOL)isSelected {
  NSMutableDictionary *info = [NSMutableDictionary dictionaryWithObject:accessory forKey:EAAccessoryKey];
  if (isSelected) [info setObject:accessory forKey:@"EAAccessorySelectedKey"];
  [[NSNotificationCenter defaultCenter]
      postNotificationName:isConnect ? EAAccessoryDidConnectNotification : EAAccessoryDidDisconnectNotification
                    object:self
                  userInfo:info];
}

// The connection is gone, so every accessory disconnects.
- (void)loseAll {
  [_lock lock];
  NSArray *lost = [NSArray arrayWithArray:_accessories];
  [_accessories removeAllObjects];
  [_known removeAllObjects];
  BOOL isRegistered = _registrations > 0;
  [_lock unlock];
  for (EasimAccessory *accessory in lost) {
    [accessory disconnect];
    if (isRegistered) [self post:accessory connect:NO selected:NO];
    [self tellDelegateOf:accessory];
  }
}

- (void)listAgain {
  for (EasimAccessory *accessory in [self list]) {
    if (_registrations > 0) [self post:accessory connect:YES selected:NO];
  }
}

// Requests the list. Returns the accessories that were not in it before.
- (NSArray *)list {
  NSArray *all = [[self callApp:@"app.accessories"] objectForKey:@"accessories"];
  if (!all) return [NSArray array];
  [_lock lock];
  NSMutableArray *listed = [NSMutableArray array], *added = [NSMutableArray array];
  for (NSDictionary *values in all) {
    EasimAccessory *accessory = [self accessory:values];
    [listed addObject:accessory];
    if (![_accessories containsObject:accessory]) [added addObject:accessory];
  }
  for (EasimAccessory *accessory in _accessories) {
    if (![listed containsObject:accessory]) [accessory disconnect];
  }
  [_accessories setArray:listed];
  [_lock unlock];
  return added;
}

// MARK: Apple's methods

- (NSArray *)connectedAccessories {
  [self waitForConnection];
  // If the app is registered, the list changes only together with notifications.
  if (_registrations == 0) [self list];
  [_lock lock];
  NSArray *all = [NSArray arrayWithArray:_accessories];
  [_lock unlock];
  return all;
}

- (void)registerForLocalNotifications {
  [self waitForConnection];
  [_lock lock];
  NSInteger count = ++_registrations;
  [_lock unlock];
  [self callApp:@"app.register"];
  if (count == 1) [self list];
}

- (void)unregisterForLocalNotifications {
  [self waitForConnection];
  [_lock lock];
  if (_registrations > 0) _registrations--;
  [_lock unlock];
  [self callApp:@"app.unregister"];
}

- (void)showBluetoothAccessoryPickerWithNameFilter:(NSPredicate *)predicate
                                        completion:(EABluetoothAccessoryPickerCompletion)completion {
  [self waitForConnection];
  NSMutableArray *offered = [NSMutableArray array];
  NSDictionary *world = [NSDictionary dictionaryWithObject:@"main" forKey:@"world"];
  for (NSDictionary *state in [[_link call:@"accessory.list" with:world] objectForKey:@"accessories"]) {
    // The server does not offer accessories that are already connected; choosing one results in a different error.
    if (!predicate || [predicate evaluateWithObject:[state objectForKey:@"name"]])
      [offered addObject:[state objectForKey:@"accessory"]];
  }
  id copied = EASIM_AUTORELEASE([(id)completion copy]);
  NSDictionary *asked = [NSDictionary dictionaryWithObjectsAndKeys:offered, @"accessories", copied, @"completion", nil];
  [NSThread detachNewThreadSelector:@selector(pick:) toTarget:self withObject:asked];
}

- (void)pick:(NSDictionary *)asked {
  @autoreleasepool {
    [_lock lock];
    NSMutableDictionary *params = [NSMutableDictionary dictionaryWithObjectsAndKeys:_app, @"app", nil];
    [_lock unlock];
    [params setObject:[asked objectForKey:@"accessories"] forKey:@"accessories"];
    NSDictionary *result = [params objectForKey:@"app"] ? [_link call:@"app.showPicker" with:params] : nil;
    NSString *outcome = [result objectForKey:@"outcome"];
    NSArray *codes = [NSArray arrayWithObjects:@"alreadyConnected", @"notFound", @"cancelled", @"failed", nil];
    NSUInteger code = [codes indexOfObject:outcome ? outcome : @"failed"];
    NSMutableArray *ended = [NSMutableArray array];
    if ([asked objectForKey:@"completion"]) [ended addObject:[asked objectForKey:@"completion"]];
    if (code != NSNotFound)
      [ended addObject:[NSError errorWithDomain:EABluetoothAccessoryPickerErrorDomain
                                           code:(NSInteger)code
                                       userInfo:nil]];
    [self performSelectorOnMainThread:@selector(complete:) withObject:ended waitUntilDone:NO];
  }
}

// Calls the completion, which is a block, through the layout that the block specification defines, so that compilers
// without blocks also accept this code.
- (void)complete:(NSArray *)ended {
  struct Block {
    void *isa;
    int flags, reserved;
    void (*invoke)(const void *block, NSError *error);
  };
  NSObject *block = [ended count] ? [ended objectAtIndex:0] : nil;
  if (!block || [block isKindOfClass:[NSError class]]) return;
  NSError *error = [ended count] > 1 ? [ended objectAtIndex:1] : nil;
#if __has_feature(objc_arc)
  const void *pointer = (__bridge const void *)block;
#else
  const void *pointer = block;
#endif
  ((const struct Block *)pointer)->invoke(pointer, error);
}

// MARK: Sessions

- (EasimPipe *)openSessionWith:(EAAccessory *)accessory protocol:(NSString *)protocol {
  if (![accessory isKindOfClass:[EasimAccessory class]] || !protocol) return nil;
  // Wait until a session that the app has just closed has ended.
  NSDate *limit = [NSDate dateWithTimeIntervalSinceNow:finishLimit];
  [_began lock];
  while (_finishing > 0 && [_began waitUntilDate:limit]) {
  }
  [_began unlock];
  [_lock lock];
  NSDictionary *params = [NSDictionary
      dictionaryWithObjectsAndKeys:protocol, @"protocol",
                                   [NSNumber numberWithUnsignedInteger:[accessory connectionID]], @"connectionID", _app,
                                   @"app", nil];
  [_lock unlock];
  if (![params objectForKey:@"app"]) return nil;
  NSDictionary *problem = nil;
  NSString *session = [[_link call:@"app.open" with:params problem:&problem] objectForKey:@"session"];
  if (!session) {
    NSLog(@"EasimBridge: opening session failed: %@", [problem objectForKey:@"message"]);
    return nil;
  }
  NSDictionary *one = [NSDictionary dictionaryWithObject:session forKey:@"session"];
  NSString *line = [[_link call:@"session.port" with:one] objectForKey:@"firstLine"];
  int socket = line ? [_link connectWithFirstLine:line] : -1;
  if (socket < 0) return nil;
  EasimPipe *pipe = EASIM_AUTORELEASE([[EasimPipe alloc] initWithSocket:socket session:session]);
  [_lock lock];
  [_pipes setObject:[NSValue valueWithNonretainedObject:pipe] forKey:session];
  [_lock unlock];
  // The session may have ended in the meantime, and the notification may have arrived before the pipe was added.
  if (![[[_link call:@"session.state" with:one] objectForKey:@"open"] boolValue]) [pipe markGone];
  return pipe;
}

- (void)finish:(EasimPipe *)pipe {
  if (pipe->_isFinished) return;
  pipe->_isFinished = YES;
  [_lock lock];
  [_pipes removeObjectForKey:pipe->_session];
  [_lock unlock];
  if (pipe->_isGone) return;
  [_began lock];
  _finishing++;
  [_began unlock];
  [NSThread detachNewThreadSelector:@selector(finishLater:) toTarget:self withObject:pipe];
}

// The server must have taken the session's last bytes from the socket before it is asked to close the session.
- (void)finishLater:(EasimPipe *)pipe {
  @autoreleasepool {
    NSDictionary *one = [NSDictionary dictionaryWithObject:pipe->_session forKey:@"session"];
    NSDate *limit = [NSDate dateWithTimeIntervalSinceNow:finishLimit];
    NSDictionary *state;
    while ((state = [_link call:@"session.state" with:one]) && [[state objectForKey:@"open"] boolValue] &&
           [[state objectForKey:@"bytesWritten"] unsignedLongLongValue] < pipe->_written &&
           [limit timeIntervalSinceNow] > 0)
      usleep(1000);
    [_link call:@"session.close" with:one];
    [_began lock];
    _finishing--;
    [_began broadcast];
    [_began unlock];
  }
}

@end
