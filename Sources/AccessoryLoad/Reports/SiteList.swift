import AccessoryRuns
import IAP2

/// The results of a report's accessories, with running totals, so that adding a report to a sum of thousands does not
/// go through all the accessories of the sum again.
///
/// Invariant: the totals are those of `sites`.
struct SiteList: Equatable, Sendable {
  private(set) var sites: [BurstReport.Site] = []
  /// The number of attachments that are listed.
  private(set) var attachments = 0
  /// The sum of all counts.
  private(set) var counts = CountSum()
  /// The link counters of all accessories, if the sum of all counts is not too large.
  private(set) var link = LinkCounters()

  init() {}

  init(_ sites: [BurstReport.Site]) {
    self.sites = sites
    for site in sites { count(site) }
  }

  mutating func append(_ site: BurstReport.Site) {
    sites.append(site)
    count(site)
  }

  private mutating func count(_ site: BurstReport.Site) {
    for session in site.sessions {
      for count in [session.completed, session.lost, session.errors] { counts.add(count) }
    }
    counts.add(site.more)
    // Attachments that are not listed are counted in `more`.
    counts.add(site.attachments.count)
    for attachment in site.attachments {
      counts.add(attachment.completed)
      counts.add(attachment.lost)
    }
    for field in LinkCounters.reportFields { counts.add(site.link[keyPath: field.path]) }
    attachments += site.attachments.count
    // Within this limit, no counter can overflow.
    if counts.value != nil { link += site.link }
  }
}
