#import <ExternalAccessory/ExternalAccessory.h>

NSString *const EAAccessoryDidConnectNotification = @"EAAccessoryDidConnectNotification";
NSString *const EAAccessoryDidDisconnectNotification = @"EAAccessoryDidDisconnectNotification";
NSString *const EAAccessoryKey = @"EAAccessoryKey";
NSString *const EAAccessorySelectedKey = @"EAAccessorySelectedKey";
NSString *const EABluetoothAccessoryPickerErrorDomain = @"EABluetoothAccessoryPickerErrorDomain";

// Behaves as in Apple's Simulator: the classes exist, the list is empty, and no session opens. Objects that only the
// system may create raise an exception.

@implementation EAAccessory
@dynamic connected, connectionID, manufacturer, name, modelNumber, serialNumber, firmwareRevision, hardwareRevision;
@dynamic dockType, protocolStrings, delegate;
- (id)init {
  [NSException raise:@"EAAccessoryInitException" format:@"accessories are made by the system"];
  return nil;
}
@end

@implementation EAAccessoryManager
// Creates the GNUstep classes that NSLog needs on the main thread, because two threads that create the same class at
// the same time can deadlock.
+ (void)initialize {
  @autoreleasepool {
    [[NSCalendarDate calendarDate] descriptionWithCalendarFormat:@"%Y-%m-%d %H:%M:%S.%F"];
  }
}
+ (EAAccessoryManager *)sharedAccessoryManager {
  static EAAccessoryManager *manager;
  if (!manager) manager = [self alloc];
  return manager;
}
- (id)init {
  [NSException raise:@"EAAccessoryManagerInitException" format:@"use sharedAccessoryManager"];
  return nil;
}
- (NSArray *)connectedAccessories { return [NSArray array]; }
- (void)registerForLocalNotifications {}
- (void)unregisterForLocalNotifications {}
- (void)showBluetoothAccessoryPickerWithNameFilter:(NSPredicate *)predicate completion:(id)completion {}
@end

@implementation EASession
@dynamic accessory, protocolString, inputStream, outputStream;
- (id)initWithAccessory:(EAAccessory *)accessory forProtocol:(NSString *)protocolString {
  [self release];
  return nil;
}
@end

@implementation EAWiFiUnconfiguredAccessory
@dynamic name, manufacturer, model, ssid, macAddress;
@end

@implementation EAWiFiUnconfiguredAccessoryBrowser
@dynamic unconfiguredAccessories;
@end
