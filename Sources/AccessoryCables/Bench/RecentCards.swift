/// How accessories last looked when their cards were read: who comes back for less time than it
/// takes to read a card is known again.
///
/// Two halves; when the newer one is full it takes the place of the older one. So what was noted among the last `room`
/// accessories is known, what is more than twice as long ago is not, and a bench that is watched for a year costs no
/// more than one that is watched for a day.
struct RecentCards<Accessory> {
  private var newer: [Substring: Accessory] = [:]
  private var older: [Substring: Accessory] = [:]

  /// Notes how an accessory looks now; `room` is how many are to be known at least.
  mutating func note(_ accessory: Accessory, as name: Substring, room: Int) {
    if newer[name] == nil, newer.count >= room {
      older = newer
      newer = [:]
    }
    newer[name] = accessory
  }

  /// How the accessory of that name looked, if that is known.
  subscript(name: Substring) -> Accessory? { newer[name] ?? older[name] }
}
