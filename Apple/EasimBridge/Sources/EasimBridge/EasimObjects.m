// Accessories and sessions, and the code that replaces Apple's methods.

#import "EasimBridge.h"
#import "EasimManager.h"

#import <objc/runtime.h>

const char EasimBridgeMark[] = "EASIM BRIDGE MUST NOT SHIP";

@implementation EasimAccessory

// Apple's own initializers are not called, because they raise exceptions.
- (id)initWithValues:(NSDictionary *)values {
  _values = EASIM_RETAIN(values);
  _isConnected = YES;
  return self;
}

- (void)dealloc {
  EASIM_RELEASE(_values);
  EASIM_DEALLOC_SUPER;
}

- (void)disconnect { _isConnected = NO; }
- (BOOL)isConnected { return _isConnected; }
- (NSUInteger)connectionID { return [[_values objectForKey:@"connectionID"] unsignedIntegerValue]; }
- (NSString *)name { return [_values objectForKey:@"name"]; }
- (NSString *)manufacturer { return [_values objectForKey:@"manufacturer"]; }
- (NSString *)modelNumber { return [_values objectForKey:@"modelNumber"]; }
- (NSString *)serialNumber { return [_values objectForKey:@"serialNumber"]; }
- (NSString *)firmwareRevision { return [_values objectForKey:@"firmwareRevision"]; }
- (NSString *)hardwareRevision { return [_values objectForKey:@"hardwareRevision"]; }
- (NSString *)dockType { return @""; }
- (NSArray *)protocolStrings { return [_values objectForKey:@"protocols"]; }
- (id<EAAccessoryDelegate>)delegate { return _delegateOfAccessory; }
- (void)setDelegate:(id<EAAccessoryDelegate>)delegate { _delegateOfAccessory = delegate; }

- (NSString *)description {
  return [NSString
      stringWithFormat:@"<EAAccessory: %p> { \n  connected:%@ \n  connectionID:%lu \n  name: %@ \n  manufacturer: %@ \n"
                        "  modelNumber: %@ \n  serialNumber: %@ \n  ppid: (null) \n  regioncode: (null) \n"
                        "  firmwareRevisionActive: %@ \n  firmwareRevisionPending: (null) \n  hardwareRevision: %@ \n"
                        "  dockType:  \n  certSerial: 16 bytes \n  certData: 607 bytes \n  protocols: %@ \n"
                        "  delegate: %@ \n}",
                       self, _isConnected ? @"YES" : @"NO", (unsigned long)[self connectionID], [self name],
                       [self manufacturer], [self modelNumber], [self serialNumber], [self firmwareRevision],
                       [self hardwareRevision], [self protocolStrings], _delegateOfAccessory];
}

- (NSString *)debugDescription { return [self description]; }

@end

@implementation EasimSession

// When methods are replaced, this method also becomes the initializer of EASession itself. Then `self` is an object of
// Apple's class, and is released.
- (id)initWithAccessory:(EAAccessory *)accessory forProtocol:(NSString *)protocolString {
  EasimPipe *pipe = [[EasimManager shared] openSessionWith:accessory protocol:protocolString];
  if (![self isKindOfClass:[EasimSession class]]) {
    EASIM_RELEASE(self);
    self = [EasimSession alloc];
  }
  if (!pipe) {
    EASIM_RELEASE(self);
    return nil;
  }
  [self takeAccessory:(EasimAccessory *)accessory protocol:protocolString pipe:pipe];
  return self;
}

- (void)takeAccessory:(EasimAccessory *)accessory protocol:(NSString *)protocol pipe:(EasimPipe *)pipe {
  NSInputStream *input = nil;
  NSOutputStream *output = nil;
  [pipe makeInput:&input output:&output];
  _accessoryOfSession = EASIM_RETAIN(accessory);
  _protocolOfSession = EASIM_RETAIN([NSString stringWithString:protocol]);
  _input = EASIM_RETAIN(input);
  _output = EASIM_RETAIN(output);
}

- (void)dealloc {
  EASIM_RELEASE(_accessoryOfSession);
  EASIM_RELEASE(_protocolOfSession);
  EASIM_RELEASE(_input);
  EASIM_RELEASE(_output);
  EASIM_DEALLOC_SUPER;
}

- (EAAccessory *)accessory { return _accessoryOfSession; }
- (NSString *)protocolString { return _protocolOfSession; }
- (NSInputStream *)inputStream { return _input; }
- (NSOutputStream *)outputStream { return _output; }

@end

@interface EasimBridge : NSObject
@end

@implementation EasimBridge

static BOOL isInstalled;

+ (void)load {
  const char *remote = getenv("EASIM_REMOTE");
  if (!remote || !remote[0]) return;
  isInstalled = YES;
  // Only these methods of Apple's classes are replaced. All others are methods of the subclasses, because apps no
  // longer get objects of Apple's classes.
  SEL shared = @selector(sharedAccessoryManager);
  Method ours = class_getClassMethod([EasimBridge class], shared);
  method_setImplementation(class_getClassMethod([EAAccessoryManager class], shared), method_getImplementation(ours));
  SEL open = @selector(initWithAccessory:forProtocol:);
  Method opens = class_getInstanceMethod([EasimSession class], open);
  method_setImplementation(class_getInstanceMethod([EASession class], open), method_getImplementation(opens));
}

+ (EAAccessoryManager *)sharedAccessoryManager { return [EasimManager shared]; }

@end

BOOL EasimBridgeIsInstalled(void) { return isInstalled; }
