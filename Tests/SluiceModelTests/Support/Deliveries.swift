/// A transaction of a client in a test of merging.
protocol ClientUpload {
    var client: UInt64 { get }
}

/// All orders in which transactions can arrive: those of one client in its order.
func deliveries<Upload: ClientUpload>(of uploads: [Upload]) -> [[Upload]] {
    if uploads.isEmpty { return [[]] }
    var orders: [[Upload]] = []
    var seen: Set<UInt64> = []
    for (index, upload) in uploads.enumerated() where seen.insert(upload.client).inserted {
        var rest = uploads
        rest.remove(at: index)
        orders += deliveries(of: rest).map { [upload] + $0 }
    }
    return orders
}
