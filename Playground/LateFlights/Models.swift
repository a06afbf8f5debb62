import SluiceBackend

@Model struct Departure {
    @PrimaryKey var id: String
    var flight = ""
    var delay = 0
    var gate = ""
}

@Model struct Alert {
    /// The key of the departure, so that a departure has one alert.
    @PrimaryKey var departure: String
    var delay = 0
}
