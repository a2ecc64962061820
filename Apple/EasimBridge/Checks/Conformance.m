// Tests, through the bridge, the behaviors in docs/external-accessory.md that do not need Apple's run loop. Each
// process tests one behavior: `Conformance NAME`. Without a name it prints all names.

#import "Watch.h"

// MARK: Registration

BEHAVIOR(n1NothingIsPostedBeforeRegistration) {
  plug = [world add:@"echo"];
  [plug plugIn];
  waitUntilPublished();
  CHECK([[manager() connectedAccessories] count] == 1);
  settle();
  CHECK([watch->_notes count] == 0);
}

BEHAVIOR(n2EachRegistrationNeedsItsOwnUnregistration) {
  [manager() registerForLocalNotifications];
  plugged();
  [manager() unregisterForLocalNotifications];
  pullAndWait();
  CHECK([[watch seen] isEqualToString:@"+1 -1"]);
}

BEHAVIOR(n3OneOwnerThatUnregistersTwiceMakesAllDeaf) {
  [manager() registerForLocalNotifications];
  plugged();
  [manager() unregisterForLocalNotifications];
  [manager() unregisterForLocalNotifications];
  [plug pull];
  WAIT([[manager() connectedAccessories] count] == 0);
  settle();
  CHECK([watch->_notes count] == 1);
}

BEHAVIOR(n4UnregisteringBelowZeroIsRecordedAndNotCounted) {
  [manager() unregisterForLocalNotifications];
  plugged();
  CHECK([watch->_notes count] == 1);
  CHECK([[world misuses] length] > 0);
}

BEHAVIOR(n5AndN7TheObjectIsTheManagerOnTheMainThread) {
  plugged();
  CHECK([[watch->_notes objectAtIndex:0] object] == manager());
  CHECK(watch->_allOnMain);
}

BEHAVIOR(n8NothingForWhatWasThereBefore) {
  plug = [world add:@"echo"];
  [plug plugIn];
  waitUntilPublished();
  [manager() registerForLocalNotifications];
  settle();
  CHECK([watch->_notes count] == 0);
  CHECK([[manager() connectedAccessories] count] == 1);
}

BEHAVIOR(n9AndE9AConnectedAccessoryCanBeUsedAtOnce) {
  EASession *session = [[EASession alloc] initWithAccessory:plugged() forProtocol:echo];
  CHECK(session != nil);
  CHECK([[session inputStream] streamStatus] == NSStreamStatusNotOpen);
  CHECK([[session outputStream] streamStatus] == NSStreamStatusNotOpen);
}

BEHAVIOR(n10TheDelegateHearsWithoutRegistration) {
  plug = [world add:@"echo"];
  [plug plugIn];
  WAIT(first() != nil);
  EAAccessory *accessory = [first() retain];
  [accessory setDelegate:watch];
  [plug pull];
  WAIT(watch->_delegateCalls == 1);
  CHECK(![accessory isConnected] && [watch->_notes count] == 0);
}

BEHAVIOR(n11AndN12AndN13TheSameObjectKeepsItsIDAndProtocols) {
  EAAccessory *accessory = [plugged() retain];
  NSUInteger number = [accessory connectionID];
  CHECK([accessory isConnected] && number > 0);
  pullAndWait();
  CHECK([watch noted:0] == accessory && [watch noted:1] == accessory);
  CHECK([accessory connectionID] == number && [[accessory protocolStrings] containsObject:echo]);
  CHECK(![accessory isConnected]);
  [plug plugIn];
  WAIT([watch->_notes count] == 3);
  CHECK([watch noted:2] != accessory && [[watch noted:2] connectionID] != number);
}

BEHAVIOR(n14TheListAgreesWithEachNotification) {
  plugged();
  for (int round = 0; round < 5; round++) {
    pullAndWait();
    [plug plugIn];
    WAIT([[watch seen] hasSuffix:@"+1"]);
  }
  CHECK(watch->_listAgreed);
}

BEHAVIOR(n17OthersGoOnWhenOneOwnerUnregistersOnce) {
  [manager() registerForLocalNotifications];
  Watch *other = [[Watch alloc] init];
  plugged();
  [manager() unregisterForLocalNotifications];
  pullAndWait();
  CHECK([other->_notes count] == 2);
}

// MARK: The flicker

BEHAVIOR(f1ConnectWithoutProtocolsDisconnectConnect) {
  [manager() registerForLocalNotifications];
  plug = [world add:@"echo" with:[NSDictionary dictionaryWithObject:[NSArray arrayWithObject:@"flicker"] forKey:@"quirks"]];
  [plug plugIn];
  WAIT([watch->_notes count] == 3);
  CHECK([[watch seen] isEqualToString:@"+0 -0 +1"]);
  CHECK([[watch noted:0] connectionID] != [[watch noted:2] connectionID]);
  CHECK(watch->_listAgreed);
}

BEHAVIOR(f3AndE3ASessionWithAnAccessoryThatWasPulledIsNil) {
  EAAccessory *accessory = [plugged() retain];
  [plug pull];
  WAIT(!isWhole(plug));
  CHECK([[EASession alloc] initWithAccessory:accessory forProtocol:echo] == nil);
}

BEHAVIOR(f11TheAccessoryEndsTheSessionAndStays) {
  EASession *session = openWith(plugged());
  [plug closeSessions];
  WAIT([watch->_input hasSuffix:@"e"] && [watch->_output hasSuffix:@"e"]);
  CHECK([watch->_notes count] == 1 && [[session accessory] isConnected]);
}

// MARK: Suspension

static void post(NSString *name) {
  [[NSNotificationCenter defaultCenter] postNotificationName:name object:nil];
}

BEHAVIOR(s1ASuspendedAppIsToldWhenItRuns) {
  plugged();
  [world suspendApp];
  [plug pull];
  WAIT(!isWhole(plug));
  settle();
  CHECK([watch->_notes count] == 1);
  [world moveAppToForeground];
  WAIT([watch->_notes count] == 2);
}

BEHAVIOR(s2AConnectAndItsDisconnectWhileSuspendedCancelOut) {
  [manager() registerForLocalNotifications];
  settle();
  [world suspendApp];
  plug = [world add:@"echo"];
  [plug plugIn];
  waitUntilPublished();
  [plug unplug];
  WAIT(!isWhole(plug));
  [world moveAppToForeground];
  settle();
  CHECK([watch->_notes count] == 0);
}

BEHAVIOR(s4WithTheModeTheSessionStaysOpen) {
  EASession *session = openWith(plugged());
  post(@"UIApplicationDidEnterBackgroundNotification");
  settle();
  put(session, "still here");
  WAIT(hasRead("still here"));
  post(@"UIApplicationWillEnterForegroundNotification");
  settle();
  CHECK([watch->_notes count] == 1);
}

BEHAVIOR(s5AndF6WithoutTheModeTheBackgroundTakesEverything) {
  openWith(plugged());
  post(@"UIApplicationDidEnterBackgroundNotification");
  WAIT([[watch seen] isEqualToString:@"+1 -1"] && [watch->_input hasSuffix:@"e"] && [watch->_output hasSuffix:@"e"]);
  post(@"UIApplicationWillEnterForegroundNotification");
  WAIT([[watch seen] isEqualToString:@"+1 -1 +1"]);
}

// MARK: Sessions

BEHAVIOR(e1NilForAProtocolThatIsNotOffered) {
  CHECK([[EASession alloc] initWithAccessory:plugged() forProtocol:@"com.lawaken.iap2"] == nil);
}

BEHAVIOR(e2NilForAProtocolThatIsNotDeclared) {
  CHECK([[EASession alloc] initWithAccessory:plugged() forProtocol:@"com.example.undeclared"] == nil);
}

BEHAVIOR(e4ASecondSessionClosesTheFirst) {
  EAAccessory *accessory = plugged();
  openWith(accessory);
  EASession *second = [[EASession alloc] initWithAccessory:accessory forProtocol:echo];
  CHECK(second != nil);
  WAIT([watch->_input hasSuffix:@"e"] && [watch->_output hasSuffix:@"e"]);
}

BEHAVIOR(e5AccessoriesHaveSessionsSideBySide) {
  EASession *one = openWith(plugged());
  EasimPlug *other = [world add:@"lawk-view" with:[NSDictionary dictionaryWithObject:@"echo" forKey:@"behavior"]];
  [other plugIn];
  WAIT([watch->_notes count] == 2);
  EASession *two = [[EASession alloc] initWithAccessory:[watch noted:1] forProtocol:@"com.lawaken.iap2"];
  Watch *second = [[Watch alloc] init];
  [second schedule:two];
  WAIT([second->_output hasPrefix:@"os"]);
  put(one, "one");
  put(two, "two");
  WAIT(hasRead("one") && [second->_read isEqualToData:[NSData dataWithBytes:"two" length:3]]);
}

BEHAVIOR(e7AndE12AReopenedSessionWorksAtOnce) {
  EAAccessory *accessory = plugged();
  for (int round = 0; round < 5; round++) {
    [watch->_input setString:@""];
    [watch->_output setString:@""];
    [watch->_read setLength:0];
    EASession *session = openWith(accessory);
    put(session, "again");
    WAIT(hasRead("again"));
    closeStreams(session);
    [session release];
  }
}

BEHAVIOR(e10AndT21ASessionKnowsNothingOfMessages) {
  EASession *session = openWith(plugged());
  put(session, "two ");
  put(session, "writes");
  WAIT(hasRead("two writes"));
}

BEHAVIOR(e11AStreamKeepsASessionThatWasLetGo) {
  EASession *session = openWith(plugged());
  NSOutputStream *output = [[session outputStream] retain];
  [[session inputStream] retain];
  [session release];
  [output write:(const uint8_t *)"alone" maxLength:5];
  WAIT(hasRead("alone"));
}

BEHAVIOR(e13AClosedSessionIsOverOnTheServer) {
  EASession *session = openWith(plugged());
  put(session, "last words");
  closeStreams(session);
  [session release];
  NSDictionary *state;
  do {
    spin();
    state = [world call:@"session.state" with:[NSDictionary dictionaryWithObject:@"s1" forKey:@"session"]];
  } while ([[state objectForKey:@"open"] boolValue]);
  CHECK([[state objectForKey:@"bytesWritten"] intValue] == 10);
}

BEHAVIOR(e14TheSessionNamesItsAccessoryAndProtocol) {
  EAAccessory *accessory = plugged();
  EASession *session = [[EASession alloc] initWithAccessory:accessory forProtocol:echo];
  CHECK([session accessory] == accessory && [[session protocolString] isEqualToString:echo]);
}

// MARK: Streams

#include "Streams.inc"

// MARK: The picker

/// A block, written as a struct with the layout of blocks, for a compiler without blocks.
@interface Completion : NSObject {
 @public
  int _flags, _reserved;
  void (*_invoke)(const void *block, NSError *error);
}
@end

static NSInteger pickerCode = -2;
static NSString *seenAtCompletion;

static void completed(const void *block, NSError *error) {
  pickerCode = error ? [error code] : -1;
  seenAtCompletion = [[watch seen] retain];
}

@implementation Completion
- (id)init {
  if ((self = [super init])) _invoke = completed;
  return self;
}
- (id)copy { return [self retain]; }
@end

static void pick(void) {
  pickerCode = -2;
  [manager() showBluetoothAccessoryPickerWithNameFilter:nil completion:[[Completion alloc] init]];
  WAIT(pickerCode != -2);
}

BEHAVIOR(p2AndN6AChoiceConnectsWithTheSelectionAndCompletes) {
  [manager() registerForLocalNotifications];
  plug = [world add:@"echo"];
  [world choose:plug or:nil];
  pick();
  CHECK(pickerCode == -1 && [seenAtCompletion isEqualToString:@"+1"]);
  CHECK([[[watch->_notes objectAtIndex:0] userInfo] objectForKey:EAAccessorySelectedKey] == [watch noted:0]);
  pullAndWait();
  [plug plugIn];
  WAIT([watch->_notes count] == 3);
  CHECK([[[watch->_notes objectAtIndex:2] userInfo] objectForKey:EAAccessorySelectedKey] == nil);
}

BEHAVIOR(p3EachWayOfFailingHasItsError) {
  plugged();
  [world choose:plug or:nil];
  pick();
  CHECK(pickerCode == EABluetoothAccessoryPickerAlreadyConnected);
  [world choose:nil or:@"notFound"];
  pick();
  CHECK(pickerCode == EABluetoothAccessoryPickerResultNotFound);
  [world choose:nil or:@"cancelled"];
  pick();
  CHECK(pickerCode == EABluetoothAccessoryPickerResultCancelled);
  [world choose:nil or:@"failed"];
  pick();
  CHECK(pickerCode == EABluetoothAccessoryPickerResultFailed);
}

// MARK: The test case

@interface Case : EasimTestCase {
 @public
  NSMutableDictionary *_attached;
}
@end
@implementation Case
- (void)addAttachment:(XCTAttachment *)attachment {
  if (!_attached) _attached = [[NSMutableDictionary alloc] init];
  [_attached setObject:[attachment description] forKey:[attachment name]];
}
@end

static Case *playCase(NSUInteger failures) {
  Case *one = [[Case alloc] init];
  [one setUp];
  [watch->_notes removeAllObjects];
  [[[one world] add:@"echo"] plugIn];
  WAIT([watch->_notes count] == 1);
  one.testRun->_totalFailureCount = failures;
  [one tearDown];
  WAIT([watch->_notes count] == 2);
  return one;
}

BEHAVIOR(aTestThatFailsKeepsTheTimelineAndTheMisuses) {
  [manager() unregisterForLocalNotifications];
  [manager() registerForLocalNotifications];
  CHECK(playCase(0)->_attached == nil);
  Case *failed = playCase(1);
  CHECK([[failed->_attached objectForKey:@"easim timeline"] rangeOfString:@"com.example.echo"].length > 0);
  CHECK([[failed->_attached objectForKey:@"easim misuses"] length] > 0);
  CHECK([[[world call:@"accessory.list" with:[NSDictionary dictionary]] objectForKey:@"accessories"] count] == 0);
}

// check.py generates this list of all behaviors from the lines above.
#include "behaviors.inc"

int main(int count, char **words) {
  @autoreleasepool {
    for (size_t index = 0; index < sizeof behaviors / sizeof behaviors[0]; index++) {
      if (count < 2) {
        printf("%s\n", behaviors[index].name);
      } else if (strcmp(words[1], behaviors[index].name) == 0) {
        // GNUstep deadlocks if this first use of NSRunLoop meets another thread's performSelectorOnMainThread.
        [NSRunLoop currentRunLoop];
        world = [[EasimWorld alloc] init];
        watch = [[Watch alloc] init];
        manager();
        WAIT([[world call:@"app.list" with:[NSDictionary dictionary]] objectForKey:@"apps"] != nil);
        [manager() connectedAccessories];
        behaviors[index].play();
        if (failures) printf("%s\n%s\n", [[world timeline] UTF8String], [[world misuses] UTF8String]);
        return failures ? 1 : 0;
      }
    }
  }
  return count < 2 ? 0 : 2;
}
