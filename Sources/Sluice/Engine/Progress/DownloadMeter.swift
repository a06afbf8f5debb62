internal import SluiceWire

/// Counts the rows that the server sends, and the bytes of the frames that bring them.
final class DownloadMeter {
    private let requests: SubscriptionRequests
    /// What has come since the store was opened.
    private(set) var received = TransferAmount()

    init(_ requests: SubscriptionRequests) { self.requests = requests }

    /// Counts a frame. Its bytes count for each of its pages in equal parts.
    func note(_ messages: [ServerMessage], byteCount: Int) {
        var amount = TransferAmount()
        var pages: [ServerMessage.Page] = []
        for content in messages.compactMap({ ServerContent($0) }) {
            switch content {
            case .page(let page):
                pages.append(page)
                amount.rowCount += page.rowCount
            case .commit(let commit):
                for block in commit.blocks {
                    amount.rowCount += block.content.objects.count + block.content.departures.count
                }
            // These bring no rows.
            case .complete, .rejected, .context, .withdrawn: break
            }
        }
        guard amount.rowCount > 0 || !pages.isEmpty else { return }
        amount.byteCount = byteCount
        received += amount
        for page in pages {
            let part = TransferAmount(rowCount: page.rowCount, byteCount: byteCount / pages.count)
            for number in page.subscriptions { requests.subscription(number)?.count(part) }
        }
    }
}

extension ServerMessage.Page {
    /// How many objects and removals the page brings.
    fileprivate var rowCount: Int { content.objects.count + content.departures.count }
}
