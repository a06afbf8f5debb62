import Foundation
import Sluice

@Model struct Departure {
    @PrimaryKey var id: String
    var flight = ""
    var delay: Int?
}

@Model struct Alert {
    /// The key of the departure, which has one alert.
    @PrimaryKey var departure: String
    var text = ""
    var raisedAt: Date = .distantPast
}
