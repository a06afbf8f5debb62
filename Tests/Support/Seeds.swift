import Foundation

/// The seeds of a generated test, from 1: a few in every run of the tests, and a tenth of `SLUICE_SOAK_SEEDS` in
/// `make soak`, if that is more.
///
/// - Parameter usualCount: how many there are in every run.
package func seeds(_ usualCount: UInt64) -> [UInt64] {
    let soakCount = ProcessInfo.processInfo.environment["SLUICE_SOAK_SEEDS"].flatMap { UInt64($0) } ?? 0
    return Array(1...max(usualCount, soakCount / 10))
}
