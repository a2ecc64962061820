import Testing

@testable import AccessoryHost

@Suite struct RegistrationTests {
  @Test func nothingIsPostedBeforeRegistrationThoughTheListIsRight() {
    expect(
      """
      > launch
      > publish 7 com.a
      > list
      list 7
      > register
      > publish 8 com.a
      connect 8 com.a
      """, from: AppTranscript(registered: false))
  }

  @Test func whatIsThereAtLaunchIsInTheListAndNotPosted() {
    expect(
      """
      > launch 7 8
      > register
      > list
      list 7 8
      > withdraw 7
      disconnect 7 com.a
      delegate 7
      """, from: AppTranscript(registered: false))
  }

  @Test func theCountBelongsToTheProcessAndNotToWhoRegistered() {
    expect(
      """
      > register
      > register
      > count
      count 2
      > unregister
      > publish 7 com.a
      connect 7 com.a
      > unregister
      > publish 8 com.a
      > count
      count 0
      > list
      list 7 8
      """, from: AppTranscript(registered: false))
  }

  @Test func oneUnregistrationTooManyStaysAtZeroAndIsAMisuse() {
    expect(
      """
      > register
      > unregister
      > unregister
      misuse
      > count
      count 0
      > register
      > publish 7 com.a
      connect 7 com.a
      """, from: AppTranscript(registered: false))
  }

  @Test func theDelegateHearsOfADisconnectWithoutRegistration() {
    expect(
      """
      > publish 7 com.a
      > withdraw 7
      delegate 7
      """, from: AppTranscript(registered: false))
    expect(
      """
      > publish 7 com.a
      > withdraw 7
      """, from: AppTranscript(registered: false) { $0.rules.tellsDelegateUnregistered = false })
  }

  @Test func twoPublicationsOfOneAccessoryAreTwoThings() {
    // Switching transports: the new connection appears before the old one disappears.
    expect(
      """
      > publish 7 com.a
      connect 7 com.a
      > publish 8 com.a
      connect 8 com.a
      > list
      list 7 8
      > withdraw 7
      disconnect 7 com.a
      delegate 7
      > list
      list 8
      """, from: AppTranscript())
  }

  @Test func theFlickerIsThreeNotices() {
    expect(
      """
      > publish 7
      connect 7
      > withdraw 7
      disconnect 7
      delegate 7
      > publish 8 com.a
      connect 8 com.a
      """, from: AppTranscript())
  }
}
