import Foundation
import Sluice

@Model struct Departure {
    /// Such as "US1117 2013-01-07T10:00:00Z".
    @PrimaryKey var id: String
    var origin = ""
    var destination = ""
    var delay: Int?
}

/// How many departures of an airport were written: each adds one, so what counts twice or never shows here.
@Model struct Airport {
    @PrimaryKey var code: String
    var departures = 0
}
