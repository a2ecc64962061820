// The five classes of ExternalAccessory, declared according to Apple's public documentation so that the bridge compiles
// on Linux. ExternalAccessory.m implements what Apple's objects do in a Simulator, which is nothing.

#import <Foundation/Foundation.h>

@class EAAccessory;

typedef NS_ENUM(NSInteger, EABluetoothAccessoryPickerErrorCode) {
  EABluetoothAccessoryPickerAlreadyConnected,
  EABluetoothAccessoryPickerResultNotFound,
  EABluetoothAccessoryPickerResultCancelled,
  EABluetoothAccessoryPickerResultFailed
};

enum { EAConnectionIDNone = 0 };

extern NSString *const EAAccessoryDidConnectNotification;
extern NSString *const EAAccessoryDidDisconnectNotification;
extern NSString *const EAAccessoryKey;
extern NSString *const EAAccessorySelectedKey;
extern NSString *const EABluetoothAccessoryPickerErrorDomain;

// On Apple's systems, the completion is a block; this compiler and runtime have no blocks.
typedef id EABluetoothAccessoryPickerCompletion;

@protocol EAAccessoryDelegate <NSObject>
@optional
- (void)accessoryDidDisconnect:(EAAccessory *)accessory;
@end

@interface EAAccessory : NSObject
@property(nonatomic, readonly, getter=isConnected) BOOL connected;
@property(nonatomic, readonly) NSUInteger connectionID;
@property(nonatomic, readonly) NSString *manufacturer;
@property(nonatomic, readonly) NSString *name;
@property(nonatomic, readonly) NSString *modelNumber;
@property(nonatomic, readonly) NSString *serialNumber;
@property(nonatomic, readonly) NSString *firmwareRevision;
@property(nonatomic, readonly) NSString *hardwareRevision;
@property(nonatomic, readonly) NSString *dockType;
@property(nonatomic, readonly) NSArray *protocolStrings;
@property(nonatomic, assign) id<EAAccessoryDelegate> delegate;
@end

@interface EAAccessoryManager : NSObject
+ (EAAccessoryManager *)sharedAccessoryManager;
- (void)registerForLocalNotifications;
- (void)unregisterForLocalNotifications;
- (void)showBluetoothAccessoryPickerWithNameFilter:(NSPredicate *)predicate
                                        completion:(EABluetoothAccessoryPickerCompletion)completion;
@property(nonatomic, readonly) NSArray *connectedAccessories;
@end

@interface EASession : NSObject
- (instancetype)initWithAccessory:(EAAccessory *)accessory forProtocol:(NSString *)protocolString;
@property(nonatomic, readonly) EAAccessory *accessory;
@property(nonatomic, readonly) NSString *protocolString;
@property(nonatomic, readonly) NSInputStream *inputStream;
@property(nonatomic, readonly) NSOutputStream *outputStream;
@end

@interface EAWiFiUnconfiguredAccessory : NSObject
@property(nonatomic, readonly) NSString *name;
@property(nonatomic, readonly) NSString *manufacturer;
@property(nonatomic, readonly) NSString *model;
@property(nonatomic, readonly) NSString *ssid;
@property(nonatomic, readonly) NSString *macAddress;
@end

@interface EAWiFiUnconfiguredAccessoryBrowser : NSObject
@property(nonatomic, readonly) NSSet *unconfiguredAccessories;
@end
